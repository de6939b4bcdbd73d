import { HubError, messageOf } from '#core';
import type { Command, Io } from '../command.ts';
import { columns } from '../help.ts';
import { type HubNeeds, createHubClient, isAbsent, listServers } from '../hub-client.ts';
import { asJson, jsonOption, textOf } from '../values.ts';
import type { CheckNeeds } from './check.ts';

/** What one hub has on the engine. */
export type Holding = {
  readonly hubId: string;
  readonly containers: readonly {
    readonly name: string;
    readonly server: string;
    readonly isRunning: boolean;
  }[];
  readonly networks: readonly { readonly name: string }[];
};

/** What `doctor` looks at. */
export type Patient = {
  /** The id of the hub of this data folder; undefined before its first start. */
  readonly hubId: string | undefined;
  readonly dataDir: string;
  /** What answers as the engine. Rejects with HubError. */
  engine(): Promise<string>;
  holdings(): Promise<readonly Holding[]>;
  /** Removes what a hub has. Answers with what could not be removed, as sentences. */
  remove(hubId: string): Promise<readonly string[]>;
};

export type DoctorNeeds = CheckNeeds &
  HubNeeds & {
    /** Throws HubError for settings that are wrong. */
    readonly examine: () => Promise<Patient>;
  };

/** `agenthub doctor`: looks for what is wrong, and for what other hubs have left on the engine. */
export function createDoctor(needs: DoctorNeeds): Command {
  return {
    name: 'doctor',
    summary: 'Look for what is wrong, and for what other hubs have left on the Docker engine.',
    options: {
      config: {
        type: 'string',
        placeholder: 'file',
        completion: 'file',
        help: 'The config to check. Default: MCP_SERVERS_CONFIG, or configs/mcp-servers.json.',
      },
      remove: {
        type: 'string',
        placeholder: 'hub',
        help: 'Remove the containers and networks of the hub with this id. Volumes stay.',
      },
      'dry-run': { type: 'boolean', help: 'Only show what --remove would remove.' },
      ...jsonOption,
    },
    details: [
      '--json prints {"config", "engine", "hub", "data", "holdings": [{"hubId", "containers", "networks"}], "problems"}; with --remove {"hub", "removed": [...], "left": [...]}, or "would_remove" with --dry-run. Exits with 1 where there are problems.',
    ],
    examples: [
      ['doctor', 'Look for what is wrong'],
      ['doctor --remove 4fz2c1 --dry-run', 'See what a hub that is gone has left'],
    ],
    async run(values, io) {
      const { remove, 'dry-run': isDry, json } = values;
      if (isDry === true && remove === undefined)
        throw new HubError(
          'HUB_USAGE',
          '--dry-run: there is nothing to try without --remove <hub>. Without either, doctor removes nothing',
        );
      const patient = await needs.examine();
      const how = { isDry: isDry === true, wantsJson: json === true };
      if (typeof remove === 'string') return await removeHolding(patient, remove, how, io);
      return await report(patient, needs, { file: textOf(values, 'config'), ...how }, io);
    },
  };
}

/** A hub that runs takes less, in milliseconds. */
const patienceMs = 5_000;

/** Whether a hub answers, as a sentence. Rejects with HubError where something else is in its place. */
async function hubStatus({ findHub }: HubNeeds, signal: AbortSignal): Promise<string> {
  const place = await findHub(undefined);
  try {
    const hub = createHubClient(place, AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]));
    const { length } = await listServers(hub);
    return `answers at ${place.url}, with ${length} ${length === 1 ? 'server' : 'servers'}`;
  } catch (error) {
    if (isAbsent(error)) return `none answers at ${place.url}: start one with "agenthub serve"`;
    if (error instanceof Error && error.name === 'TimeoutError')
      throw new HubError(
        'HUB_CONNECT_FAILED',
        `the hub at ${place.url} takes longer than ${patienceMs / 1000} seconds to answer. See its log, or start it again`,
        { cause: error },
      );
    throw error;
  }
}

async function report(
  patient: Patient,
  needs: DoctorNeeds,
  { file, wantsJson }: { readonly file: string | undefined; readonly wantsJson: boolean },
  { out, err, signal, errorScreen, screen }: Io,
): Promise<0 | 1> {
  const problems: string[] = [];
  const attempt = async (work: () => Promise<string>): Promise<string> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      problems.push(messageOf(error));
      return 'see below';
    }
  };
  const config = await attempt(async () => {
    const { file: read, config: found } = await needs.loadConfig(file);
    return `${read}: fine, ${found.servers.length} servers`;
  });
  let holdings: readonly Holding[] = [];
  const engine = await attempt(async () => {
    const found = await patient.engine();
    holdings = await patient.holdings();
    return found;
  });
  const hub = await attempt(() => hubStatus(needs, signal));
  const id = patient.hubId;
  if (wantsJson) {
    const data = { folder: patient.dataDir, hubId: id ?? null };
    out(asJson({ config, engine, hub, data, holdings, problems }));
    return problems.length === 0 ? 0 : 1;
  }
  const rows = [
    ['config', config],
    ['engine', engine],
    ['hub', hub],
    ['data', `${patient.dataDir}: ${id === undefined ? 'no hub has run here yet' : `hub ${id}`}`],
  ];
  for (const line of columns(rows)) out(line);
  for (const holding of holdings) {
    out('');
    out(screen.paint('bold', titleOf(holding, id)));
    for (const line of columns(holding.containers.map(containerRow))) out(line);
    if (holding.hubId !== id)
      out(`  If that hub is gone: agenthub doctor --remove ${holding.hubId} --dry-run`);
  }
  for (const problem of problems) err(errorScreen.paint('red', problem));
  return problems.length === 0 ? 0 : 1;
}

async function removeHolding(
  patient: Patient,
  hubId: string,
  { isDry, wantsJson }: { readonly isDry: boolean; readonly wantsJson: boolean },
  { out, err }: Io,
): Promise<0 | 1> {
  if (hubId === patient.hubId)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `--remove: ${hubId} is the hub of ${patient.dataDir}, which removes what it left when it starts. Start it, or stop it with Ctrl-C`,
    );
  const holdings = await patient.holdings();
  const holding = holdings.find(one => one.hubId === hubId);
  if (!holding)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `--remove: no hub ${JSON.stringify(hubId)} has anything on this engine. Those that have: ${holdings.map(one => one.hubId).join(', ') || 'none'}`,
    );
  const left = isDry ? [] : await patient.remove(hubId);
  const isLeft = (name: string) => left.some(sentence => sentence.startsWith(`${name}: `));
  const what = (kind: string, all: readonly { readonly name: string }[]) =>
    all.filter(({ name }) => !isLeft(name)).map(({ name }) => `${kind} ${name}`);
  const gone = [...what('container', holding.containers), ...what('network', holding.networks)];
  if (wantsJson) out(asJson({ hub: hubId, [isDry ? 'would_remove' : 'removed']: gone, left }));
  else {
    for (const one of gone) out(`${isDry ? 'would remove' : 'removed'} ${one}`);
    for (const sentence of left) err(`not removed: ${sentence}`);
  }
  return left.length === 0 ? 0 : 1;
}

function titleOf({ hubId, containers, networks }: Holding, ownId: string | undefined): string {
  const whose = hubId === ownId ? 'this hub' : `hub ${hubId || 'without a name'}`;
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
  return `${whose}: ${count(containers.length, 'container')}, ${count(networks.length, 'network')}`;
}

const containerRow = ({ name, server, isRunning }: Holding['containers'][number]) => [
  name,
  server,
  isRunning ? 'runs' : 'does not run',
];
