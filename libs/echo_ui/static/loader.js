// ECHO: starts the HUD once somebody is signed in; nothing happens on the sign-in page.
{
  const start = () => {
    if (!localStorage.getItem("token") || location.pathname.startsWith("/auth")) return false;
    import("/echo/hud/static/hud.js").then((hud) => hud.start()).catch((error) => console.warn("ECHO:", error));
    return true;
  };
  if (!start()) {
    const waiting = setInterval(() => start() && clearInterval(waiting), 1000);
  }
}
