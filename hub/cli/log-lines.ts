import { type Described, fieldsOf, objectsIn } from './responses.ts';
import type { Screen } from './terminal.ts';

/** A line of a log in `GET /logs`. */
export type WrittenLine = {
  readonly at: string;
  /** Server that the line belongs to; undefined for the hub's own log. */
  readonly server: string | undefined;
  readonly isHubs: boolean;
  readonly level: string | undefined;
  readonly event: 'began' | 'ended' | undefined;
  readonly text: string;
};

/** Returns the lines in an answer or event of `GET /logs`. */
export const entriesIn = (answer: unknown): readonly WrittenLine[] =>
  objectsIn(fieldsOf(answer)['lines']).map(entryOf);

function entryOf(line: Described): WrittenLine {
  const { at, server, by, level, event, text } = line;
  return {
    at: String(at),
    server: typeof server === 'string' ? server : undefined,
    isHubs: typeof server === 'string' && by === 'hub',
    level: typeof level === 'string' ? level : undefined,
    event: event === 'began' || event === 'ended' ? event : undefined,
    text: String(text),
  };
}

export const hubLabel = 'hub';

export type LineFormat = {
  /** Width of the names in front of the lines; undefined for lines without names. */
  readonly nameWidth: number | undefined;
  readonly hasTimes: boolean;
};

/** Formats a line for people. The hub's lines about a server begin with `#`. */
export function formatEntry(
  entry: WrittenLine,
  { nameWidth, hasTimes }: LineFormat,
  { paint, foreign }: Pick<Screen, 'paint' | 'foreign'>,
): string {
  const time = hasTimes ? `${paint('dim', entry.at)} ` : '';
  const { server = hubLabel } = entry;
  const name = nameWidth === undefined ? '' : `${paint('cyan', server.padEnd(nameWidth))} | `;
  return `${time}${name}${bodyOf(entry, { paint, foreign })}`;
}

function bodyOf(
  { event, isHubs, level, text, server }: WrittenLine,
  { paint, foreign }: Pick<Screen, 'paint' | 'foreign'>,
): string {
  const shown = foreign(text);
  if (event === 'began') return paint('dim', server === undefined ? '# started' : '# starting');
  if (event === 'ended') return paint('dim', shown === '' ? '# ended' : `# ended: ${shown}`);
  if (isHubs) return paint('dim', `# ${shown}`);
  if (level === 'warn') return `${paint('yellow', 'warning')}: ${shown}`;
  return level === 'error' ? `${paint('red', 'error')}: ${shown}` : shown;
}
