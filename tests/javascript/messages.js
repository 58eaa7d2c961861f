// Messages about one run, in the format of web/live/protocol.py.

export const RUN = "a";

export const META = {
  id: RUN, name: "mtp4", color: 0, state: "running", phase: null, kind: "launched", engine_title: "llama.cpp", chips: ["Q8_0"],
  created_t: 990, started_t: 995, ready_t: 1000, ended_t: null, ceiling: 5, cause: null, cause_line: null, tile_basis: "now", absent: {},
};

export function line(number, t = null, text = "", mark = null, why = null) {
  return { at: number, t, text, mark, why };
}

export function part(type, seq, fields = {}) {
  return { type, run: RUN, seq, server_t: 1100, cursor: `after ${seq}`, ...fields };
}

/** A snapshot with these fields, and with these changes to its metadata. */
export function snapshot(fields = {}, meta = {}) {
  return part("snapshot", 4, { meta: { ...META, ...meta }, ...fields });
}

/** A series by its name. */
export function series(name, t, v, excluded) {
  return { [name]: excluded ? { t, v, excluded } : { t, v } };
}
