import { type ServerConfig, mountWarnings } from '#config';
import { DeadlineExceeded, HubError, messageOf, within } from '#core';
import { type Command, type Run, configOption, hubOptions, jsonOption } from '../command.ts';
import { type Answering, describeHoldings, findLiveHubs, problemsOf } from '../holdings.ts';
import { createHubClient, findNamedHub, isAbsent, listServers } from '../hub-client.ts';
import type { HubObjects, Installation, OllamaReport } from '../needs.ts';
import { findingsOf, ollamaIn, partsOfHub } from '../ollama-report.ts';
import { pathCommand } from '../on-path.ts';
import { type Described, fieldsOf } from '../responses.ts';
import { unusedIn, usedHere } from '../used-volumes.ts';
import { wrapText } from '../screen/text-width.ts';
import { besideNames, roomOf, withCommand } from '../wrapped.ts';
import { count, textOf, usageError } from '../values.ts';

/** `agenthub doctor`: checks the installation, and lists what hubs left behind on the engine. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Find problems, and what hubs have left behind on the Docker engine.',
  options: {
    ...configOption('The config to check.'),
    url: hubOptions.url,
    remove: {
      value: 'hub',
      help: 'Remove the containers and networks of the hub with this id. Its volumes are kept.',
    },
    volumes: {
      help: 'With --remove: also remove its volumes, with the data in them. For the hub of this folder, only volumes that no server in the config uses.',
    },
    'dry-run': { help: 'Only show what --remove would remove.' },
    ...jsonOption,
  },
  details: [
    '--json prints {"config", "engine", "hub", "data", "ollama", "holdings": [{"hubId", "containers", "networks", "volumes"}], "unusedVolumes": [...], "problems"}; with --remove {"hub", "removed": [...], "left": [...]}, or "would_remove" with --dry-run. Exits with 1 if there are problems.',
  ],
  examples: [
    ['doctor', 'Find problems'],
    ['doctor --remove 4fz2c1 --dry-run', 'List what a deleted hub has left behind'],
    ['doctor --remove 4fz2c1 --volumes --dry-run', 'The same, including its volumes'],
  ],
  async run(run) {
    const { values, needs } = run;
    const { remove, volumes, 'dry-run': isDry } = values;
    if (isDry === true && remove === undefined)
      throw usageError('--dry-run: needs --remove <hub>. Without both, doctor removes nothing');
    if (volumes === true && remove === undefined)
      throw usageError(
        '--volumes: needs --remove <hub>, whose volumes are then removed. Without options, doctor lists them',
      );
    const installation = await needs.examine();
    return typeof remove === 'string'
      ? await removeObjects(remove, installation, run)
      : await report(installation, run);
  },
};

/** Timeout for requests to a hub in ms. A running hub answers faster. */
const maxWaitMs = 5_000;

type HubStatus = {
  /** Sentence that says whether a hub is running. */
  readonly text: string;
  /** State of Ollama as the hub reports it; absent if no hub is running. */
  readonly ollama?: OllamaReport;
  /** Notes on entries of the hub's servers that may be wrong. */
  readonly notes?: readonly string[];
  /** Files that the hub cannot write, with the remedy. */
  readonly problems?: readonly string[];
  readonly answering?: Answering;
};

/** Asks the hub for its status. Rejects with HubError if another program answers. */
async function hubStatus(run: Run): Promise<HubStatus> {
  const { signal: ending, clock } = run;
  const place = await findNamedHub(run);
  try {
    return await within(maxWaitMs, { clock, signal: ending }, async signal => {
      const client = createHubClient(place, { signal, clock });
      const servers = await listServers(client);
      const text = `answers at ${place.url}, with ${count(servers.length, 'server')}`;
      const parts = await partsOfHub(client);
      const { backend, detail } = fieldsOf(parts['engine']);
      const notes = servers.flatMap(server => noteOnTools(server) ?? []);
      // Report a hub that started without an engine, even if doctor finds one.
      if (backend === 'process') notes.push(String(detail));
      const { state, detail: unwritten } = fieldsOf(parts['data']);
      const problems = state === 'degraded' ? [String(unwritten)] : [];
      const answering = { url: place.url, servers };
      return { text, ollama: ollamaIn(parts), notes, problems, answering };
    });
  } catch (error) {
    if (isAbsent(error))
      return { text: `not running at ${place.url}: start it with "agenthub serve"` };
    if (error instanceof DeadlineExceeded)
      throw new HubError(
        'HUB_CONNECT_FAILED',
        `the hub at ${place.url} takes longer than ${maxWaitMs / 1000} seconds to answer. See its log, or restart it`,
        { cause: error },
      );
    throw error;
  }
}

/** Returns a note about names in `tools` of a server's entry that the server lacks, and that may be misspelt. */
function noteOnTools({ name, unknown_tools: unknown }: Described): string | undefined {
  return Array.isArray(unknown)
    ? `${String(name)}: "tools" names tools that it does not have: ${unknown.join(', ')}. Correct the entry`
    : undefined;
}

async function report(installation: Installation, run: Run): Promise<0 | 1> {
  const { values, needs, out, err, errorScreen, screen } = run;
  const problems: string[] = [];
  const notes: string[] = [];
  const attempt = async (work: () => Promise<string>): Promise<string> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      if (!problems.includes(messageOf(error))) problems.push(messageOf(error));
      return 'see below';
    }
  };
  let servers: readonly ServerConfig[] | undefined;
  const config = await attempt(async () => {
    const {
      file,
      config: found,
      insteadOf,
    } = await needs.files.loadConfig(textOf(values, 'config'));
    // Ignore the shipped config, which does not show which volumes are in use.
    if (insteadOf === undefined) ({ servers } = found);
    notes.push(...(await mountWarnings(found.servers)));
    return `${file}: fine, ${count(found.servers.length, 'server')}`;
  });
  await attempt(async () => {
    notes.push(...(await needs.files.checkPlaces()));
    const fault = await needs.files.findLockFault(textOf(values, 'config'));
    if (fault !== undefined) problems.push(fault);
    return 'fine';
  });
  let holdings: readonly HubObjects[] = [];
  const engine = await attempt(async () => {
    const found = await installation.engine();
    holdings = await installation.holdings();
    const ignored = await installation.ignoredLimits();
    if (ignored !== undefined) notes.push(ignored);
    return found;
  });
  let ollama: OllamaReport | undefined;
  let answering: HubStatus['answering'];
  const hub = await attempt(async () => {
    const status = await hubStatus(run);
    ({ ollama, answering } = status);
    notes.push(...(status.notes ?? []));
    problems.push(...(status.problems ?? []), ...problemsOf(answering?.servers ?? []));
    return status.text;
  });
  const models = await attempt(async () => {
    ollama ??= await installation.ollama(run.signal);
    const found = findingsOf(ollama);
    notes.push(...found.notes);
    problems.push(...found.problems);
    return found.summary;
  });
  const id = installation.hubId;
  const own = holdings.find(({ hubId }) => hubId === id);
  // Without a readable config, treat no volume as unused.
  const unused = own && servers ? unusedIn(own, installation, servers) : [];
  const { dataDir } = installation;
  const link = pathCommand(await needs.files.describeProgram());
  if (run.isJson) {
    const data = { folder: dataDir, hubId: id ?? null };
    run.json({
      config,
      engine,
      hub,
      data,
      ollama: ollama ?? null,
      holdings,
      unusedVolumes: unused,
      problems,
    });
    return problems.length === 0 ? 0 : 1;
  }
  const room = roomOf(screen.columns, 'command'.length + 4);
  const facts = [
    ['config', config],
    ['engine', engine],
    ['hub', hub],
    ['ollama', models],
    ['data', `${dataDir}: ${id === undefined ? 'no hub has run here yet' : `hub ${id}`}`],
  ] as const;
  const rows = facts.map(([name, text]) => [name, wrapText(text, room)] as const);
  const typed = link === undefined ? [] : withCommand('"agenthub" in any folder by', link, room);
  for (const line of besideNames([...rows, ['command', typed]])) out(line);
  const isUsed = usedHere(installation, servers ?? []);
  const about = { installation, answering, unused, isUsed };
  for (const line of await describeHoldings(holdings, about, screen)) out(line);
  for (const note of notes) run.remark('note', note);
  for (const problem of problems)
    for (const line of wrapText(problem, roomOf(errorScreen.columns, 0)))
      err(errorScreen.paint('red', line));
  return problems.length === 0 ? 0 : 1;
}

async function removeObjects(hubId: string, installation: Installation, run: Run): Promise<0 | 1> {
  const { values, isJson, json, out, err } = run;
  const isDry = values['dry-run'] === true;
  const withVolumes = values['volumes'] === true;
  const isOwn = hubId === installation.hubId;
  if (isOwn && !withVolumes)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `--remove: ${hubId} is the hub of ${installation.dataDir}, which cleans up itself when it starts. Start it, or stop it with Ctrl-C. To remove its volumes that no server in the config uses, add --volumes`,
    );
  const holdings = await installation.holdings();
  const found = holdings.find(one => one.hubId === hubId);
  if (!found)
    throw new HubError(
      'HUB_NAME_UNKNOWN',
      `--remove: no hub ${JSON.stringify(hubId)} has objects on this engine. Hubs that have: ${holdings.map(one => one.hubId).join(', ') || 'none'}`,
    );
  const how = isOwn ? undefined : (await findLiveHubs(installation, [], undefined)).get(hubId);
  if (how !== undefined)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `--remove: hub ${hubId} runs ${how}. Stop it first, if you no longer need it`,
    );
  const { containers, networks } = isOwn ? { containers: [], networks: [] } : found;
  const volumes = withVolumes ? await removableIn(found, isOwn, installation, run) : [];
  const left = isDry
    ? []
    : [
        ...(isOwn ? [] : await installation.remove(hubId)),
        ...(await installation.removeVolumes(hubId, volumes)),
      ];
  const isLeft = (name: string) => left.some(sentence => sentence.startsWith(`${name}: `));
  const what = (kind: string, names: readonly string[]) =>
    names.filter(name => !isLeft(name)).map(name => `${kind} ${name}`);
  const gone = [
    ...what('container', namesOf(containers)),
    ...what('network', namesOf(networks)),
    ...what('volume', volumes),
  ];
  if (isJson) json({ hub: hubId, [isDry ? 'would_remove' : 'removed']: gone, left });
  else {
    for (const one of gone) out(`${isDry ? 'would remove' : 'removed'} ${one}`);
    for (const sentence of left) err(`not removed: ${sentence}`);
  }
  return left.length === 0 ? 0 : 1;
}

/**
 * Returns volumes to remove. Of this hub, volumes that no server of the config uses; of another hub, all except those
 * that a server of this config uses.
 */
async function removableIn(
  found: HubObjects,
  isOwn: boolean,
  installation: Installation,
  run: Run,
): Promise<readonly string[]> {
  if (isOwn) return unusedIn(found, installation, await ownServers(run));
  const servers = await ownServers(run).catch((error: unknown) => {
    if (!(error instanceof HubError) || error.code !== 'HUB_CONFIG_MISSING') throw error;
    return []; // Without a config, no volume is known to be in use.
  });
  const isUsed = usedHere(installation, servers);
  const names = namesOf(found.volumes);
  for (const name of names.filter(isUsed))
    run.remark('note', `the volume ${name} is kept, because a server in the config uses it`);
  return names.filter(name => !isUsed(name));
}

/** Returns the servers of the user's config. Throws HUB_CONFIG_MISSING if only the shipped config exists. */
async function ownServers({ needs, values }: Run): Promise<readonly ServerConfig[]> {
  const { config, insteadOf } = await needs.files.loadConfig(textOf(values, 'config'));
  if (insteadOf === undefined) return config.servers;
  throw new HubError(
    'HUB_CONFIG_MISSING',
    `--volumes: there is no ${insteadOf} to show which volumes are in use. Run this in the folder of the config, or name the file with --config`,
  );
}

const namesOf = (those: readonly { readonly name: string }[]) => those.map(({ name }) => name);
