import type { Screen, TextStyle } from '../terminal.ts';
import type { FrameLine } from './painter.ts';
import type { ServerMark, ShownServer } from './server-line.ts';
import { roomOf } from '../wrapped.ts';
import { fitText, padText, textWidth, wrapText } from './text-width.ts';

type FrameOptions = {
  readonly columns: number;
  /** Maximum number of lines of the frame. */
  readonly rows: number;
  readonly servers: readonly ShownServer[];
  /** Text below the servers, such as the next step; empty for none. */
  readonly next: string;
  readonly screen: Pick<Screen, 'paint' | 'foreign'>;
};

const marks: Readonly<Record<ServerMark, readonly [sign: string, style: TextStyle]>> = {
  ok: ['●', 'green'],
  busy: ['◌', 'yellow'],
  problem: ['✖', 'red'],
  quiet: ['○', 'dim'],
};
/** Priority of servers by their mark, if there is no room for all. */
const order: readonly ServerMark[] = ['problem', 'busy', 'ok', 'quiet'];

const maxNameColumns = 24;
const stateColumns = 13;

/**
 * Returns the lines of the frame at the end of the terminal: one or two for each server, and the next step. Each line
 * fits the width. Pure.
 */
export function frameOf({
  columns,
  rows,
  servers,
  next,
  screen,
}: FrameOptions): readonly FrameLine[] {
  const lineOf = lineMaker(columns, screen);
  const below =
    next === ''
      ? []
      : ['', ...wrapText(next, roomOf(columns, 3))].map(text =>
          lineOf([[text && `  ${text}`, undefined]]),
        );
  const above = [lineOf([['', undefined]])];
  const room = Math.max(1, rows - below.length - above.length);
  const shown = choose(servers, room);
  const left = servers.length - shown.length;
  const nameColumns = Math.min(
    maxNameColumns,
    Math.max(4, Math.floor(columns / 3)),
    Math.max(0, ...shown.map(({ name }) => textWidth(name))),
  );
  const lines = shown.flatMap(server => linesOf(server, { nameColumns, columns }, lineOf));
  const rest = left > 0 ? [lineOf([[`  … and ${restText(servers, shown)}`, 'dim']])] : [];
  return [...above, ...lines, ...rest, ...below];
}

const heightOf = ({ more }: ShownServer) => (more === undefined ? 1 : 2);

/**
 * Returns the servers that fit into the given number of lines, in their order. Servers with problems take precedence.
 */
function choose(servers: readonly ShownServer[], rows: number): readonly ShownServer[] {
  const height = servers.reduce((sum, server) => sum + heightOf(server), 0);
  if (height <= rows) return servers;
  const chosen = new Set<ShownServer>();
  let left = rows - 1;
  for (const mark of order)
    for (const server of servers) {
      if (server.mark !== mark || heightOf(server) > left) continue;
      chosen.add(server);
      left -= heightOf(server);
    }
  return servers.filter(server => chosen.has(server));
}

function restText(servers: readonly ShownServer[], shown: readonly ShownServer[]): string {
  const counts = new Map<string, number>();
  for (const server of servers)
    if (!shown.includes(server)) counts.set(server.state, (counts.get(server.state) ?? 0) + 1);
  return [...counts].map(([state, number]) => `${number} ${state}`).join(', ');
}

type Part = readonly [text: string, style: TextStyle | undefined];
type LineMaker = (parts: readonly Part[]) => FrameLine;

/**
 * Returns a function that formats lines. The last column stays empty, because some terminals wrap a line that fills it.
 */
function lineMaker(columns: number, { paint, foreign }: FrameOptions['screen']): LineMaker {
  return parts => {
    let left = Math.max(1, columns - 1);
    let text = '';
    for (const [raw, style] of parts) {
      const part = fitText(foreign(raw).replaceAll(/[\t\n]+/g, ' '), left);
      left -= textWidth(part);
      text += style === undefined ? part : paint(style, part);
      if (left <= 0) break;
    }
    return { text, width: Math.max(1, columns - 1) - left };
  };
}

function linesOf(
  { name, mark, state, detail, more }: ShownServer,
  { nameColumns, columns }: { readonly nameColumns: number; readonly columns: number },
  lineOf: LineMaker,
): readonly FrameLine[] {
  const [sign, style] = marks[mark];
  const parts: readonly Part[] = [
    [`  ${sign} `, style],
    [`${padText(name, nameColumns)}  `, mark === 'quiet' ? 'dim' : 'bold'],
    [padText(state, stateColumns), mark === 'quiet' ? 'dim' : style],
    [detail, mark === 'problem' ? undefined : 'dim'],
  ];
  const first = lineOf(parts);
  if (more === undefined) return [first];
  // Indent the command to the state's column, or less if the command is too long.
  const indent = Math.max(4, Math.min(6 + nameColumns, columns - 1 - textWidth(more)));
  return [first, lineOf([[`${' '.repeat(indent)}${more}`, 'cyan']])];
}
