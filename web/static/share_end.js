// On every page: when the share or the session is over, the gate's own page takes this one's place.

const LOOK_EVERY_MS = 2000;

/** @param {ComponentArgs<{ door: string }>} component */
export default function ({ data }) {
  const timer = setInterval(async () => {
    const answer = await fetch(data.door, { cache: "no-store" }).catch(() => null);
    if (answer?.status === 401) location.reload();
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}
