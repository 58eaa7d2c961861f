// A page that proposes runs writes them into its address in place of the bare one: the link is whole, and Back leaves the page.
// Streamlit itself would add an entry to the browser's history, and under the path of the page before.

/** @param {ComponentArgs<{ page: string, runs: string[] }>} component */
export default function ({ data }) {
  const said = new URLSearchParams(location.search);
  if (said.has("run") || !location.pathname.endsWith(`/${data.page}`)) return;
  data.runs.forEach((runId) => said.append("run", runId));
  history.replaceState({ ...history.state, isProposed: true }, "", `?${said}`);
}
