import { type Command, hubOptions } from '../command.ts';
import { openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn, textsIn } from '../responses.ts';
import { type Cell, durationOf, showTable } from '../table.ts';
import { textOf, textsOf } from '../values.ts';
import type { Io } from '../terminal.ts';

/** `agenthub search WORDS`: finds MCP servers in the catalog. */
export const search: Command = {
  name: 'search',
  summary: 'Find MCP servers in the official registry.',
  positionals: [
    { name: 'words', help: 'Words in names and descriptions. Default: all.', count: 'any' },
  ],
  options: {
    cursor: { value: 'cursor', help: 'The next page, as the output of the last one says.' },
    ...hubOptions,
  },
  details: [
    'The hub asks the registry of "catalog.url" in the config, and keeps its answers: without a network it searches them and says how old they are.',
    'All texts in the registry are from the publishers of the servers, and are not verified.',
    '--json prints the response of GET /catalog: {"servers": [{"name", "title", "description", "version", "publisher", "kinds", "status", "popularity", ...}], "next", "source"}.',
  ],
  examples: [
    ['search postgres', 'Servers about PostgreSQL'],
    ['search github issues --json', 'For scripts'],
  ],
  async run(run) {
    const hub = await openHub(run);
    const cursor = textOf(run.values, 'cursor');
    const query = new URLSearchParams({
      search: textsOf(run.values, 'words').join(' '),
      ...(cursor !== undefined && { cursor }),
    });
    const answer = await hub.ask({ method: 'GET', path: `/catalog?${query.toString()}` });
    if (run.isJson) return run.json(answer);
    const { servers, next, source } = fieldsOf(answer);
    const rows = objectsIn(servers).map(rowOf);
    const head = ['NAME', 'VERSION', 'KIND', 'PUBLISHER', 'DESCRIPTION'];
    showTable(head, rows, 'The registry has no such server.', run);
    remarkSource(fieldsOf(source), run);
    if (typeof next === 'string')
      run.remark(
        'note',
        `there are more: add --cursor ${run.errorScreen.foreign(JSON.stringify(next))}`,
      );
    if (rows.length > 0)
      run.remark('note', '"agenthub install NAME" installs one, and asks what it needs');
    return 0;
  },
};

function rowOf(card: Described): readonly Cell[] {
  const { name, version, kinds, publisher, description, status, popularity } = card;
  const { of, count } = fieldsOf(popularity);
  const more = typeof count === 'number' ? ` (${count} ${String(of)})` : '';
  const state = status === 'active' ? '' : `[${String(status)}] `;
  return [
    String(name),
    String(version),
    textsIn(kinds).join(', '),
    String(publisher),
    `${state}${String(description)}${more}`,
  ];
}

/** Prints the age of an answer that comes from the cache, and why the registry did not answer. */
export function remarkSource(
  { from, age_seconds: age, problem, url }: Described,
  { remark, errorScreen }: Pick<Io, 'remark' | 'errorScreen'>,
): void {
  if (from !== 'cache') return;
  const old = durationOf(Number(age) * 1_000);
  if (typeof problem === 'string')
    remark(
      'warning',
      `this is ${old} old: ${errorScreen.foreign(`${String(url)} was not reached: ${problem}`)}`,
    );
  else if (Number(age) >= 60) remark('note', `this is ${old} old`);
}
