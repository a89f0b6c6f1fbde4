"""A stand-in of HyperPod's endpoint: it hands out connections, asks for its cookie, passes the rest on."""

import asyncio
import io
import ssl
import threading

import aiohttp
import trustme
from aiohttp import web

CONNECTIONS = (
    "/apis/connection.access.sagemaker.amazonaws.com/v1alpha1/namespaces/{namespace}/raydashboardconnections"
)
COOKIE = "ray_session"


class HyperPod:
    """An API server and a TLS endpoint before a Ray dashboard, in a thread of this process.

    Args:
        dashboard: Address of the dashboard.
        folder: Gets a kubeconfig and the certificate of the authority.
        clusters: ``cluster/namespace`` texts that exist.
    """

    def __init__(self, dashboard, folder, clusters=("visgym/team-a",)):
        self.dashboard, self.clusters = dashboard, clusters
        self.sessions, self.connections = set(), 0
        authority = trustme.CA()
        self.certificate = folder / "ca.pem"
        authority.cert_pem.write_to_path(str(self.certificate))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(self._tls)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(
            "current-context: c\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
            f"clusters: [{{name: c, cluster: {{server: 'https://localhost:{self.port}'}}}}]\n"
            "users: [{name: u, user: {token: of-the-caller}}]\n"
        )

    async def _start(self):
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post(CONNECTIONS, self._connect)
        app.router.add_get("/bearer-auth", self._sign_in)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "localhost", 0, ssl_context=self._tls)
        await site.start()
        return self._runner.addresses[0][1]

    async def _connect(self, request):
        if request.headers["Authorization"] != "Bearer of-the-caller":
            return web.json_response({"message": "who are you"}, status=401)
        name = (await request.json())["spec"]["clusterName"]
        cluster = f"{name}/{request.match_info['namespace']}"
        if cluster == "visgym/someone-else":
            return web.json_response({"message": "not yours"}, status=403)
        if cluster not in self.clusters:
            return web.json_response({"message": "not found"}, status=404)
        self.connections += 1
        url = f"https://localhost:{self.port}/bearer-auth?token=t{self.connections}"
        return web.json_response({"status": {"connectionUrl": url}}, status=201)

    async def _sign_in(self, request):
        session = f"session-of-{request.query['token']}"
        self.sessions.add(session)
        answer = web.Response(status=302, headers={"Location": "/"})
        answer.set_cookie(COOKIE, session, secure=True)
        return answer

    async def _pass_on(self, request):
        if request.cookies.get(COOKIE) not in self.sessions:
            return web.Response(status=401, text="session expired")
        url = f"{self.dashboard}{request.rel_url}"
        async with aiohttp.ClientSession() as client:
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return await self._pass_on_socket(client, url, request)
            async with client.request(request.method, url, data=io.BytesIO(await request.read())) as answer:
                return web.Response(
                    status=answer.status, body=await answer.read(), content_type=answer.content_type
                )

    async def _pass_on_socket(self, client, url, request):
        ours = web.WebSocketResponse()
        await ours.prepare(request)
        async with client.ws_connect(url) as theirs:
            async for message in theirs:
                await ours.send_str(message.data)
                if request.cookies[COOKIE] not in self.sessions:
                    request.transport.abort()  # the session ended while logs were followed
                    break
        return ours

    def close(self):
        """Stop both servers."""
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()
