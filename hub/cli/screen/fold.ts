/** Maximum number of remembered lines per run of a server, to recognize them in its next run. */
const maxRemembered = 500;

type Runs = {
  current: Set<string>;
  before: Set<string>;
  last: string;
  folded: number;
};

/**
 * Filters lines that a server repeats: from its previous run, as a server that keeps crashing does, or from the line
 * before.
 */
export function createFold() {
  const servers = new Map<string, Runs>();

  function runsOf(server: string): Runs {
    const known = servers.get(server);
    if (known) return known;
    const fresh = { current: new Set<string>(), before: new Set<string>(), last: '', folded: 0 };
    servers.set(server, fresh);
    return fresh;
  }

  return {
    /** True if a line is to be shown. Lines that differ only in numbers, such as times, count as equal. */
    isNew(server: string, text: string): boolean {
      const runs = runsOf(server);
      // The server's log has advice of the hub too, with this prefix.
      const key = text.replace(/^AgentHub: /, '').replaceAll(/\d+/g, '0');
      const isKnown = runs.before.has(key) || key === runs.last;
      runs.last = key;
      if (runs.current.size < maxRemembered) runs.current.add(key);
      if (isKnown) runs.folded++;
      return !isKnown;
    },
    /** Must be called when a run of the server begins. */
    begin(server: string): void {
      const runs = runsOf(server);
      runs.before = runs.current;
      runs.current = new Set();
      runs.last = '';
    },
    /** Returns the number of lines that were left out since the last call. */
    takeFolded(server: string): number {
      const runs = runsOf(server);
      const { folded } = runs;
      runs.folded = 0;
      return folded;
    },
  };
}
