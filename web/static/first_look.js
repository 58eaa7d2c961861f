// Takes the first look (web/server/first_look.py) off the page once the page itself shows what it announced, or cannot.

const GIVE_UP_MS = 15000;
const look = document.querySelector(".pw-first");

function isDrawn() {
  const app = document.querySelector("[data-testid=stApp]");
  const hasRun = app?.dataset.testScriptState === "notRunning";
  return hasRun && app.querySelector(`[data-testid=stMain] :is(${look.dataset.drawn})`) !== null;
}

function leave() {
  watching.disconnect();
  look.remove();
}

const watching = new MutationObserver(() => isDrawn() && leave());
watching.observe(document.getElementById("root"), { subtree: true, childList: true, attributes: true });
setTimeout(leave, GIVE_UP_MS);
