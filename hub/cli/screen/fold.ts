/** Lines of a run that are remembered, to know them again in the next run. */
const maxRemembered = 500;

type Runs = {
  current: Set<string>;
  before: Set<string>;
  last: string;
  folded: number;
};

/** Leaves out what a server has written before: in the run before, as servers that crash again and again do, or just now. */
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
    /** Whether a line is to be shown. Lines that differ in numbers only, such as times, are equal. */
    isNew(server: string, text: string): boolean {
      const runs = runsOf(server);
      // Advice of the hub stands in the server's log as well.
      const key = text.replace(/^AgentHub: /, '').replaceAll(/\d+/g, '0');
      const isKnown = runs.before.has(key) || key === runs.last;
      runs.last = key;
      if (runs.current.size < maxRemembered) runs.current.add(key);
      if (isKnown) runs.folded++;
      return !isKnown;
    },
    /** A run of the server begins. */
    begin(server: string): void {
      const runs = runsOf(server);
      runs.before = runs.current;
      runs.current = new Set();
      runs.last = '';
    },
    /** The number of lines that were left out since the last call. */
    takeFolded(server: string): number {
      const runs = runsOf(server);
      const { folded } = runs;
      runs.folded = 0;
      return folded;
    },
  };
}
