"""Visual mazes for vision-language agents: generate, render, converse, reward, roll out, evaluate.

Importing the package registers its Gymnasium environments and needs gymnasium, numpy and pillow alone.
"""

from visgym_maze.curriculum import CurriculumSampler, Difficulty, difficulty_bins
from visgym_maze.demonstrations import demonstrate, write_demonstrations
from visgym_maze.dialogue.episode import MazeDialogue, Message, TurnResult, picture_urls
from visgym_maze.dialogue.parsing import FailureReason, ParsedAction, ParseFailure, parse, spell
from visgym_maze.dialogue.prompts import PromptTemplate
from visgym_maze.dialogue.trajectory import StopReason, Trajectory, Turn
from visgym_maze.envs.first_person import FirstPersonMazeEnv
from visgym_maze.envs.maze import MazeEnv
from visgym_maze.envs.registration import CONFIGURATIONS, register_all
from visgym_maze.envs.vector import MazeVectorEnv
from visgym_maze.evaluation import Report, evaluate, mcnemar, wilson_interval
from visgym_maze.groups import Group, GroupSampler
from visgym_maze.policies import ChatPolicy, OraclePolicy, Policy, RandomPolicy
from visgym_maze.rewards import RewardFunction, RewardSpec, TurnOutcome
from visgym_maze.rollouts import rollout
from visgym_maze.suites import SUITES, Suite, suite_named
from visgym_maze.view.first_person import render_first_person
from visgym_maze.view.first_person_view import FirstPerson
from visgym_maze.view.frames import render
from visgym_maze.view.named import VIEWS
from visgym_maze.view.style import STYLES, Style
from visgym_maze.view.text import ascii_view
from visgym_maze.view.top_down import TopDown, data_uri, png_bytes
from visgym_maze.view.view import Camera, View
from visgym_maze.world.algorithms import GENERATORS, Braided
from visgym_maze.world.dynamics import Action, transition
from visgym_maze.world.endpoints import ENDPOINTS
from visgym_maze.world.generation import generate
from visgym_maze.world.layout import Cell, Layout
from visgym_maze.world.solver import Solution, solve
from visgym_maze.world.splits import Split, SplitSpec, moves_within, role_of

__version__ = "0.1.0"

__all__ = [
    "CONFIGURATIONS",
    "ENDPOINTS",
    "GENERATORS",
    "STYLES",
    "SUITES",
    "VIEWS",
    "Action",
    "Braided",
    "Camera",
    "Cell",
    "ChatPolicy",
    "CurriculumSampler",
    "Difficulty",
    "FailureReason",
    "FirstPerson",
    "FirstPersonMazeEnv",
    "Group",
    "GroupSampler",
    "Layout",
    "MazeDialogue",
    "MazeEnv",
    "MazeVectorEnv",
    "Message",
    "OraclePolicy",
    "ParseFailure",
    "ParsedAction",
    "Policy",
    "PromptTemplate",
    "RandomPolicy",
    "Report",
    "RewardFunction",
    "RewardSpec",
    "Solution",
    "Split",
    "SplitSpec",
    "StopReason",
    "Style",
    "Suite",
    "TopDown",
    "Trajectory",
    "Turn",
    "TurnOutcome",
    "TurnResult",
    "View",
    "ascii_view",
    "data_uri",
    "demonstrate",
    "difficulty_bins",
    "evaluate",
    "generate",
    "mcnemar",
    "moves_within",
    "parse",
    "picture_urls",
    "png_bytes",
    "render",
    "render_first_person",
    "role_of",
    "rollout",
    "solve",
    "spell",
    "suite_named",
    "transition",
    "wilson_interval",
    "write_demonstrations",
]

register_all()
