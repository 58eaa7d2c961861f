// Reloads the page once the viewer's share link or session has expired, so that the access check shows its own page.

const CHECK_EVERY_MS = 2000;

/** @param {ComponentArgs<{ health: string }>} component */
export default function ({ data }) {
  const timer = setInterval(async () => {
    const response = await fetch(data.health, { cache: "no-store" }).catch(() => null);
    if (response?.status === 401) location.reload();
  }, CHECK_EVERY_MS);
  return () => clearInterval(timer);
}
