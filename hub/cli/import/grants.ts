import type { ImportGrants, ImportItem, ImportPlan } from '#clients';
import type { Run } from '../command.ts';
import { isAllowedByUser } from '../confirm.ts';
import { type Values, textsOf, usageError } from '../values.ts';

type Added = Extract<ImportItem, { readonly action: 'add' }>;
type Loosening = Added['loosenings'][number];

/** Settings that the user allows, by the servers' names in the hub. */
type GivenGrants = {
  readonly isAllowed: (server: string, loosening: Pick<Loosening, 'name'>) => boolean;
  /** Servers that may write to the folders in their arguments, by the user's answer on the terminal. */
  readonly writing: ReadonlySet<string>;
};

/** Value of `--allow` for all that servers in the user's own files need. */
const needed = 'needed';
/** Value of `--write` for all servers in the user's own files. */
const every = 'all';

/** Returns the mounts that `--mount` and `--write` grant to servers. Throws HUB_USAGE for an invalid `--mount`. */
export function mountGrants(values: Values): ImportGrants {
  const writing = textsOf(values, 'write');
  const mounts = textsOf(values, 'mount').map(text => {
    const [, server, mount] = /^([\w-]+)=(.+)$/s.exec(text) ?? [];
    if (server !== undefined && mount !== undefined) return { server, mount };
    throw usageError(
      `--mount: ${JSON.stringify(text)} is not allowed: write SERVER=FOLDER, or SERVER=FOLDER:rw to let it write there`,
    );
  });
  return {
    mayWrite: server => writing.includes(server) || writing.includes(every),
    mountsOf: server => mounts.flatMap(one => (one.server === server ? [one.mount] : [])),
  };
}

/**
 * Collects the settings that the command line and, on a terminal, the user allow. `--allow` names a setting for all
 * servers, one server's setting (`SERVER/NAME`), or `needed`. Throws HUB_USAGE for a name that no server of the plan
 * asks for.
 */
export async function collectGrants(plan: ImportPlan, run: Run): Promise<GivenGrants> {
  const items = plan.items.filter(item => item.action === 'add');
  const named = textsOf(run.values, 'allow');
  refuseUnknown(items, run.values, named);
  const { mayWrite, mountsOf } = mountGrants(run.values);
  const allowed = new Set(named);
  const writing = new Set<string>();
  for (const item of items)
    for (const one of item.loosenings) {
      const isGranted = one.kind === 'mount' || (one.kind === 'user' && !one.needsConfirmation);
      const isMount = isGranted && (mayWrite(item.name) || mountsOf(item.name).length > 0);
      if ((named.includes(needed) && isNeeded(item, one)) || (isMount && isOwn(item)))
        allowed.add(`${item.name}/${one.name}`);
    }
  const isAllowed: GivenGrants['isAllowed'] = (server, { name }) =>
    allowed.has(name) || allowed.has(`${server}/${name}`) || writing.has(server);
  // Without a terminal and `--yes`, `isAgreed` throws later.
  const mayAsk = ['yes', 'dry-run', 'json'].every(option => run.values[option] !== true);
  for (const item of run.needs.ask && mayAsk ? items : []) {
    const open = item.loosenings.filter(one => !isAllowed(item.name, one));
    if (open.length === 0) continue;
    const answer = isOwn(item) ? await askAtOnce(item, open, run) : 'singly';
    if (answer === 'write') writing.add(item.name);
    const agreed = answer === 'singly' ? await askSingly(item, open, run) : open;
    if (answer !== 'no') for (const { name } of agreed) allowed.add(`${item.name}/${name}`);
  }
  return { isAllowed, writing };
}

const isOwn = ({ found }: Added) => found.scope === 'user';

/**
 * True if a server in the user's own files does not work without the setting, and the setting cannot be abused by
 * others.
 */
const isNeeded = (item: Added, { kind, needsConfirmation }: Loosening) =>
  isOwn(item) &&
  (['network', 'resources', 'header', 'url', 'variable', 'secret', 'build'].includes(kind) ||
    (['mount', 'user'].includes(kind) && !needsConfirmation));

function refuseUnknown(items: readonly Added[], values: Values, named: readonly string[]): void {
  const servers = items.map(({ name }) => name);
  const settings = items.flatMap(({ name: server, loosenings }) =>
    loosenings.map(({ name }) => ({ server, name })),
  );
  const known = settings.flatMap(({ server, name }) => [name, `${server}/${name}`]);
  const unknown = named.find(name => name !== needed && !known.includes(name));
  if (unknown !== undefined)
    throw usageError(
      `--allow: no server of this import asks for ${JSON.stringify(unknown)}. They ask for ${settings.map(({ server, name }) => `${server}/${name}`).join(', ') || 'nothing beyond the default sandbox'}`,
    );
  const others = [
    ...textsOf(values, 'write').filter(name => name !== every),
    ...textsOf(values, 'mount').map(text => text.split('=', 1)[0] ?? ''),
  ];
  const other = others.find(name => !servers.includes(name));
  if (other !== undefined)
    throw usageError(
      `${JSON.stringify(other)} is not a server of this import: ${servers.join(', ') || 'there is none'}`,
    );
}

async function askSingly(
  { name: server }: Added,
  open: readonly Loosening[],
  run: Run,
): Promise<readonly Loosening[]> {
  const agreed: Loosening[] = [];
  for (const one of open)
    if (await isAllowedByUser(server, one, `Allow ${one.name} for ${server}?`, run))
      agreed.push(one);
  return agreed;
}

/** Shows all settings that a server asks for, and asks once. Enter means yes if the server needs them. */
async function askAtOnce(
  item: Added,
  open: readonly Loosening[],
  { needs, err, errorScreen, signal }: Run,
): Promise<'yes' | 'write' | 'singly' | 'no'> {
  const isDefault = open.every(one => isNeeded(item, one));
  const reads = open.some(({ kind, needsConfirmation }) => kind === 'mount' && !needsConfirmation);
  err(errorScreen.paint('bold', errorScreen.foreign(`${item.name} asks for:`)));
  for (const { message } of open) err(errorScreen.foreign(`  ${message}`.replaceAll('\n', ' ')));
  const words = [
    isDefault ? '[Y]es' : '[y]es',
    ...(reads ? ['[w]rite to its folders too'] : []),
    ...(open.length > 1 ? ['[s]ingly'] : []),
    isDefault ? '[n]o' : '[N]o',
  ];
  const answer = (await needs.ask?.(`Allow it? ${words.join(', ')}: `, signal)) ?? '';
  const [letter = isDefault ? 'y' : 'n'] = answer.trim().toLowerCase();
  if (letter === 'w' && reads) return 'write';
  if (letter === 's') return 'singly';
  return letter === 'y' ? 'yes' : 'no';
}
