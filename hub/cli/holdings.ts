import type { HubObjects, Installation } from './needs.ts';
import { type Described, fieldsOf } from './responses.ts';
import { columns } from './table.ts';
import type { Screen } from './terminal.ts';
import { count } from './values.ts';
import { roomOf, withCommand } from './wrapped.ts';

/** State of the hub that owns containers, networks and volumes on the engine. */
type HolderState =
  /** The hub of this installation. `unused` are volumes that no server of its config uses. */
  | { readonly kind: 'own'; readonly unused: readonly string[]; readonly isRunning: boolean }
  /** Another hub that runs. `how` is the end of a sentence that begins with "runs". */
  | { readonly kind: 'live'; readonly how: string }
  /** A hub of this user that does not run, and whose data folder exists. */
  | { readonly kind: 'stopped'; readonly dataDir: string }
  | { readonly kind: 'unknown' };

/** The hub that answered requests, with its servers. */
export type Answering = { readonly url: string; readonly servers: readonly Described[] };

/** Returns hubs that certainly run, by id, each with the end of a sentence that begins with "runs". */
export async function findLiveHubs(
  installation: Pick<Installation, 'knownHubs' | 'composeHubs'>,
  holdings: readonly HubObjects[],
  answering: Answering | undefined,
): Promise<ReadonlyMap<string, string>> {
  const live = new Map<string, string>();
  for (const id of await installation.composeHubs()) live.set(id, 'under Docker compose');
  for (const { hubId, isRunning, dataDir } of await installation.knownHubs())
    if (hubId !== undefined && isRunning) live.set(hubId, `with its data in ${dataDir}`);
  const names = new Set(
    answering?.servers.map(({ instance }) => fieldsOf(instance)['containerName']),
  );
  for (const { hubId, containers } of holdings)
    if (answering && containers.some(({ name }) => names.has(name)))
      live.set(hubId, `at ${answering.url}`);
  return live;
}

type Context = {
  readonly installation: Pick<Installation, 'hubId' | 'knownHubs' | 'composeHubs'>;
  /** The hub that answered; undefined if none did. */
  readonly answering: Answering | undefined;
  /** Volumes of this installation's hub that no server of its config uses. */
  readonly unused: readonly string[];
  /**
   * True if a server of this config uses a volume that another hub created, for example with an earlier data folder.
   */
  readonly isUsed: (volume: string) => boolean;
};

/**
 * Returns lines that describe what each hub owns on the engine, this hub first. Rejects with HubError if the engine
 * does not answer.
 */
export async function describeHoldings(
  holdings: readonly HubObjects[],
  { installation, answering, unused, isUsed }: Context,
  screen: Pick<Screen, 'paint' | 'columns'>,
): Promise<readonly string[]> {
  if (holdings.length === 0) return [];
  const live = await findLiveHubs(installation, holdings, answering);
  const known = await installation.knownHubs();
  const stateOf = (hubId: string): HolderState => {
    const how = live.get(hubId);
    const stopped = known.find(hub => hub.hubId === hubId);
    if (hubId === installation.hubId) return { kind: 'own', unused, isRunning: how !== undefined };
    if (how !== undefined) return { kind: 'live', how };
    return stopped ? { kind: 'stopped', dataDir: stopped.dataDir } : { kind: 'unknown' };
  };
  const isOwn = ({ hubId }: HubObjects) => hubId === installation.hubId;
  return holdings
    .toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)))
    .flatMap(holding => linesOf(holding, stateOf(holding.hubId), isUsed, screen));
}

/** Returns lines that describe what one hub owns. Offers no removal for a hub that runs or may run. */
function linesOf(
  holding: HubObjects,
  state: HolderState,
  isUsed: Context['isUsed'],
  screen: Pick<Screen, 'paint' | 'columns'>,
): readonly string[] {
  const { hubId, containers, volumes } = holding;
  const isOwn = state.kind === 'own';
  const shown = isOwn ? state.unused : volumes.map(({ name }) => name);
  const whyShown = (name: string) => {
    if (isOwn) return 'volume that no server in the config uses';
    return isUsed(name) ? 'volume that a server in the config uses' : 'volume';
  };
  const command = `agenthub doctor --remove ${hubId}`;
  const isUnknown = state.kind === 'unknown';
  // Running containers do not prove that the hub runs, as they outlive a killed hub, but their data may be in use.
  const mayRun = containers.some(({ isRunning }) => isRunning);
  const mayRemoveVolumes = isOwn ? shown.length > 0 : isUnknown && !mayRun && !shown.every(isUsed);
  const isLeft = isOwn && !state.isRunning && containers.length > 0;
  const remedy = (sentence: string, typed: string) =>
    withCommand(sentence, typed, roomOf(screen.columns, 2)).map(line => `  ${line}`);
  return [
    '',
    screen.paint('bold', titleOf(holding, state)),
    ...columns(
      containers.map(({ name, server, isRunning }) => [
        name,
        server,
        isRunning ? 'runs' : 'does not run',
      ]),
    ),
    ...columns(shown.map(name => [name, whyShown(name)])),
    ...(isLeft
      ? ['  The next start goes on with the servers of its config, and removes the rest.']
      : []),
    ...(isUnknown ? remedy('If that hub no longer exists', `${command} --dry-run`) : []),
    ...(mayRemoveVolumes
      ? remedy(
          `If ${isOwn ? '' : 'that hub no longer exists and '}the data in its volumes is not needed`,
          `${command} --volumes --dry-run`,
        )
      : []),
  ];
}

function titleOf({ hubId, containers, networks, volumes }: HubObjects, state: HolderState): string {
  const kept = volumes.length === 0 ? '' : `, ${count(volumes.length, 'volume')}`;
  return `${whoseOf(hubId, state)}: ${count(containers.length, 'container')}, ${count(networks.length, 'network')}${kept}`;
}

function whoseOf(hubId: string, state: HolderState): string {
  if (state.kind === 'own') return 'this hub';
  const name = `hub ${hubId || 'without a name'}`;
  if (state.kind === 'live') return `${name}, which runs ${state.how}`;
  return state.kind === 'stopped' ? `${name}, stopped, with its data in ${state.dataDir}` : name;
}

/** States in which a server needs attention. */
const broken = ['failed', 'unreachable'];

/** Returns a sentence for each server of the hub that has failed or is unreachable. */
export function problemsOf(servers: readonly Described[]): readonly string[] {
  return servers.flatMap(({ name, state, enabled, why, last_error: lastError }) => {
    if (enabled === false || typeof state !== 'string' || !broken.includes(state)) return [];
    const reason = fieldsOf(lastError)['message'] ?? why;
    const because = typeof reason === 'string' ? `: ${reason}` : '';
    return [`${String(name)} is ${state}${because}. See "agenthub logs ${String(name)}"`];
  });
}
