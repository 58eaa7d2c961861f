// Writes the runs that a page proposes into its URL if the URL names none, so that the link can be shared. It replaces
// the history entry, so that Back leaves the page. Streamlit would push an entry, under the previous page's path.

/** @param {ComponentArgs<{ page: string, runs: string[] }>} component */
export default function ({ data }) {
  const params = new URLSearchParams(location.search);
  if (params.has("run") || !location.pathname.endsWith(`/${data.page}`)) return;
  data.runs.forEach((runId) => params.append("run", runId));
  history.replaceState({ ...history.state, isProposed: true }, "", `?${params}`);
}
