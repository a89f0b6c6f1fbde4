"""What importing the package loads."""

import subprocess
import sys


def imported_by(statement: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter loads for ``statement``."""
    program = f"""
import sys
old = set(sys.modules)
{statement}
print(*(name for name in set(sys.modules) - old if getattr(sys.modules[name], "__spec__", None)))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_the_environment_needs_gymnasium_numpy_and_pillow_alone():
    loaded = imported_by("import visgym_maze") - set(sys.stdlib_module_names)
    private = {name for name in loaded if name.startswith("_") or "sitecustomize" in name}
    # gymnasium brings its own three dependencies along.
    allowed = {"visgym_maze", "gymnasium", "numpy", "PIL"}
    allowed |= {"cloudpickle", "typing_extensions", "farama_notifications"}
    assert loaded - private <= allowed


def test_recipes_and_bad_input_need_no_training_library():
    loaded = imported_by("import visgym_maze_skyrl.train")
    assert not loaded & {"torch", "ray", "skyrl", "skyrl_gym", "transformers"}
