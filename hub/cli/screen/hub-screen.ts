import { type Clock, type Event, createTicker, durationText } from '#core';
import type { Screen } from '../terminal.ts';
import { roomOf } from '../wrapped.ts';
import { createFold } from './fold.ts';
import { frameOf } from './frame.ts';
import { formatLog, readLogLine } from './log-text.ts';
import { type Terminal, createPainter } from './painter.ts';
import { type WatchedServer, describeForScreen, phaseIn, secondsText } from './server-line.ts';
import { textWidth, wrapText } from './text-width.ts';

/** The servers of a hub that the screen shows. */
export type WatchedServers = {
  readonly all: readonly WatchedServer[];
  /** Fires when servers were added or removed. */
  readonly changed: Event<unknown>;
};

/** A named text about a hub, which may have several lines. A command is not wrapped. */
type Fact = readonly [name: string, text: string, kind?: 'command'];

/** Facts about a running hub, and the next step for the user. */
type ReadyFacts = {
  readonly facts: readonly Fact[];
  readonly next: string;
};

/** The terminal screen of a hub: its log, a live line for each server, and the next step. */
export type HubScreen = ReturnType<typeof createHubScreen>;

type Options = {
  readonly version: string;
  /** True to show all lines of the log, instead of only errors, warnings and output of servers. */
  readonly isVerbose: boolean;
  /** Returns the milliseconds since the program began. */
  readonly elapsedMs: () => number;
};

const tickMs = 500;
const maxNameColumns = 20;
/** Number of lines at the top of the terminal that are reserved for the log. */
const logRows = 3;

/** Creates a screen that draws on `terminal`, with the colours of `screen`. */
export function createHubScreen(
  { version, isVerbose, elapsedMs }: Options,
  terminal: Terminal,
  screen: Screen,
  clock: Clock,
) {
  const fold = createFold();
  /** Current phase of each server's start, by server name. */
  const phases = new Map<string, string>();
  const heard = new Map<WatchedServer, DisposableStack>();
  let servers: WatchedServers | undefined;
  let stage: 'starting' | 'ready' | 'stopping' = 'starting';
  let next = '';
  const all = () => servers?.all ?? [];

  const painter = createPainter(terminal, () =>
    frameOf({
      columns: terminal.columns,
      rows: Math.max(2, terminal.rows - logRows),
      servers: all().map(server =>
        describeForScreen(server, clock.now(), phases.get(server.config.name)),
      ),
      next: nextText(),
      screen,
    }),
  );
  /** Updates elapsed times while a server starts or stops. */
  const ticker = createTicker(clock, tickMs, () => {
    painter.repaint();
    return isBusy();
  });

  function nextText(): string {
    if (stage === 'ready') return next;
    return stage === 'starting'
      ? `AgentHub ${version} is starting, ${secondsText(elapsedMs())}`
      : 'AgentHub is stopping its servers';
  }

  const isBusy = () =>
    stage !== 'ready' ||
    all().some(({ status }) => ['starting', 'stopping'].includes(status.state));

  function nameColumns(): number {
    const names = all().map(({ config }) => textWidth(config.name));
    return Math.min(maxNameColumns, Math.max(3, ...names));
  }

  function hear(server: WatchedServer): void {
    const { name } = server.config;
    const listening = new DisposableStack();
    let before = server.status.state;
    listening.use(
      server.changed(status => {
        if (status.state === 'starting') {
          if (before !== 'starting') fold.begin(name);
          const phase = phaseIn(status.progress);
          if (phase !== undefined) phases.set(name, phase);
        } else phases.delete(name);
        if (status.state === 'failed') tellFolded(name);
        before = status.state;
        ticker.start();
        painter.repaint();
      }),
    );
    listening.use(server.listed(() => painter.repaint()));
    heard.set(server, listening);
  }

  function tellFolded(name: string): void {
    const folded = fold.takeFolded(name);
    if (folded === 0) return;
    const text = `${folded} lines are not repeated: they came in an earlier run, too`;
    print({ server: name, text, isStderr: false, level: 'info' });
  }

  function print(shown: Parameters<typeof formatLog>[0]): void {
    const place = { nameWidth: nameColumns(), columns: terminal.columns };
    painter.print(...formatLog(shown, place, screen).split('\n'));
  }

  /** Subscribes to servers that were added, and unsubscribes from those that were removed. */
  function follow(): void {
    const current = all();
    for (const server of current) if (!heard.has(server)) hear(server);
    for (const [server, listening] of heard)
      if (!current.includes(server)) {
        listening.dispose();
        heard.delete(server);
      }
    painter.repaint();
  }

  ticker.start();
  painter.repaint();
  return {
    /** Shows a line of the hub's log, given as JSON. */
    log(line: string): void {
      const shown = readLogLine(line);
      if (!shown) return;
      const matters = shown.isStderr || shown.level === 'warn' || shown.level === 'error';
      if (!matters && !isVerbose) return;
      if (shown.server !== undefined && !fold.isNew(shown.server, shown.text)) return;
      print(shown);
    },
    /** Shows these servers from now on. */
    watch(watched: WatchedServers): void {
      servers = watched;
      watched.changed(follow);
      follow();
    },
    ready(ready: ReadyFacts): void {
      stage = 'ready';
      next = ready.next;
      const title = `${screen.paint('bold', 'AgentHub')} ${version}  ${screen.paint('green', `ready in ${durationText(elapsedMs())}`)}`;
      const width = Math.max(...ready.facts.map(([name]) => name.length));
      const room = roomOf(terminal.columns, width + 5);
      const facts = ready.facts.flatMap(([name, text, kind]) => {
        const lines = kind === 'command' ? [text] : wrapText(text, room);
        return lines.map((line, at) => {
          const shownName = (at === 0 ? name : '').padEnd(width);
          return `  ${screen.paint('dim', shownName)}  ${line}`;
        });
      });
      painter.print('', `  ${title}`, '', ...facts, '');
      ticker.start();
    },
    stopping(): void {
      stage = 'stopping';
      ticker.start();
      painter.repaint();
    },
    resized: (): void => painter.repaint(),
    /** Closes the screen, with `last` as its last line if given. Later lines of the log are not shown. */
    async close(last?: string): Promise<void> {
      ticker[Symbol.dispose]();
      for (const listening of heard.values()) listening.dispose();
      heard.clear();
      if (last !== undefined) painter.print(last);
      await painter.close();
    },
  };
}
