import { type Command, hubOptions } from '../command.ts';
import { openHub } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { type Cell, showTable } from '../table.ts';

/** `agenthub outdated`: lists the servers whose packages have a newer version. */
export const outdated: Command = {
  name: 'outdated',
  summary: 'List the servers whose packages have newer versions in npm or PyPI.',
  options: {
    all: { help: 'List the servers that are up to date as well.' },
    ...hubOptions,
  },
  details: [
    'The hub asks the registries when you run this command, never by itself. Images, remote servers and commands are not listed.',
    '--json prints the response of GET /upgrades: {"servers": [{"name", "state", "package", "current", "newest", "why"}]}.',
  ],
  examples: [
    ['outdated', 'List what "agenthub upgrade" would change'],
    ['outdated --all', 'List all packages with their versions'],
  ],
  async run(run) {
    const hub = await openHub(run);
    const answer = await hub.ask({ method: 'GET', path: '/upgrades' });
    if (run.isJson) return run.json(answer);
    const servers = objectsIn(fieldsOf(answer)['servers']);
    const shown = servers.filter(({ state }) => run.values['all'] === true || state !== 'current');
    const head = ['NAME', 'PACKAGE', 'NOW', 'NEWEST', 'NOTE'];
    showTable(head, shown.map(rowOf), noneOutdated(servers), run);
    if (shown.some(({ state }) => state === 'outdated'))
      run.remark('note', '"agenthub upgrade NAME" shows what changes, and asks');
    return 0;
  },
};

/** Returns the message if no server in an answer of `GET /upgrades` is outdated. */
export function noneOutdated(servers: readonly Described[]): string {
  if (servers.length === 0) return 'No server of this hub is a package of npm or PyPI.';
  return servers.every(({ state }) => state === 'current')
    ? 'All packages are up to date.'
    : 'No package is known to be outdated: "agenthub outdated" lists those without a version, or whose registry did not answer.';
}

const notes = new Map([['unpinned', 'its entry names no exact version']]);

function rowOf({ name, state, package: spec, current, newest, why }: Described): readonly Cell[] {
  const isOld = state === 'outdated';
  const then = typeof newest === 'string' ? newest : '?';
  return [
    String(name),
    String(spec),
    typeof current === 'string' ? current : '-',
    isOld ? { text: then, style: 'yellow' } : then,
    typeof why === 'string' ? why : (notes.get(String(state)) ?? ''),
  ];
}
