// On every page: when the share or the session is over, the access check's own page takes this one's place.

const LOOK_EVERY_MS = 2000;

/** @param {ComponentArgs<{ health: string }>} component */
export default function ({ data }) {
  const timer = setInterval(async () => {
    const answer = await fetch(data.health, { cache: "no-store" }).catch(() => null);
    if (answer?.status === 401) location.reload();
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}
