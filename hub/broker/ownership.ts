import { isObject } from '#core';
import type { EngineSocket } from './engine-socket.ts';
import { isIsolated } from './network.ts';
import { refusal, show, unanswered, unknownObject } from './refusal.ts';
import { type HubIdentity, hubLabel, managedLabel, nameLabel } from './schema.ts';

type Engine = Pick<EngineSocket, 'getJson'>;
type Labels = { readonly [label: string]: unknown };

const labelsIn = (value: unknown): Labels =>
  isObject(value) && isObject(value['Labels']) ? value['Labels'] : {};

/** The inspect path of each kind of object, and the field of the response with its id. */
const objectKinds = {
  container: { path: (name: string) => `/containers/${name}/json`, id: 'Id' },
  network: { path: (name: string) => `/networks/${name}`, id: 'Id' },
  volume: { path: (name: string) => `/volumes/${name}`, id: 'Name' },
} as const;

/**
 * Returns the engine's id of a container, network or volume with this hub's label. Rejects with HUB_BROKER_UNKNOWN for
 * any other object, as if it did not exist. Calls use the id, because a name may pass to another object in the
 * meantime. The id of a volume is its name.
 */
export async function findOwned(
  engine: Engine,
  kind: keyof typeof objectKinds,
  name: string,
  hubId: string,
): Promise<string> {
  const { path, id: key } = objectKinds[kind];
  const { status, body } = await engine.getJson(path(name));
  if (status === 200 && isObject(body)) {
    const id = body[key];
    const labels = labelsIn(kind === 'container' ? body['Config'] : body);
    if (labels[hubLabel] === hubId && typeof id === 'string') return id;
  }
  throw unknownObject(kind, name);
}

/**
 * Returns the id of a server's network, as `findOwned` does. Rejects with HUB_BROKER_REFUSED if the network is not
 * isolated.
 */
export async function findIsolated(engine: Engine, name: string, hubId: string): Promise<string> {
  const id = await findOwned(engine, 'network', name, hubId);
  const { body } = await engine.getJson(objectKinds.network.path(id));
  if (isObject(body) && isIsolated(body)) return id;
  throw refusal(
    `a container in the network ${show(name)}, which is not isolated. Remove the network (docker network rm ${name})`,
  );
}

/** Rejects with HUB_BROKER_UNKNOWN unless a hub built this image. It may be another hub, as hubs share images. */
export async function checkBuilt(engine: Engine, reference: string): Promise<void> {
  const { status, body } = await engine.getJson(`/images/${reference}/json`);
  const labels = labelsIn(isObject(body) ? body['Config'] : undefined);
  if (status !== 200 || labels[managedLabel] !== 'true') throw unknownObject('image', reference);
}

/** True for the labels of a volume of this hub, which may have been created when the hub had another id. */
const isOwnVolume = (labels: Labels, { hubId, hubName }: HubIdentity) =>
  labels[managedLabel] === 'true' && (labels[hubLabel] === hubId || labels[nameLabel] === hubName);

/**
 * Rejects with HUB_BROKER_REFUSED unless this hub created the volume or it does not exist yet; the engine then creates
 * it with the hub's labels. The volume's own name proves nothing: volumes of "agenthub-test" also begin with
 * "agenthub-". Volumes with driver options are refused: no hub sets such options, and they can turn a volume into any
 * folder.
 */
export async function checkVolume(engine: Engine, name: string, hub: HubIdentity): Promise<void> {
  const { status, body } = await engine.getJson(`/volumes/${name}`);
  if (status === 404) return;
  const remedy = `Choose another name in "volumes", or remove this volume with its data (docker volume rm ${name})`;
  const refuse = (problem: string) => refusal(`the volume ${show(name)}: it ${problem}. ${remedy}`);
  const found = status === 200 && isObject(body) ? body : {};
  const labels = labelsIn(found);
  if (!isOwnVolume(labels, hub)) {
    const owner = labels[nameLabel] ?? labels[hubLabel];
    const isOthers = typeof owner === 'string' && labels[managedLabel] === 'true';
    const maker = isOthers ? `belongs to the hub ${show(owner)}` : 'was not made for a server';
    throw refuse(`exists and ${maker}`);
  }
  const options = found['Options'] ?? {};
  if (found['Driver'] !== 'local' || !isObject(options) || Object.keys(options).length > 0)
    throw refuse(`has options of its driver (${show(options)}), which no hub gives it`);
}

/**
 * The first major version of the engine that can mount a folder of a volume. Older ones would mount the whole volume.
 */
const firstWithSubpaths = 26;

/** Rejects with HUB_BROKER_REFUSED if the engine cannot mount a folder of a volume. */
export async function requireSubpaths(engine: Engine): Promise<void> {
  const { status, body } = await engine.getJson('/version');
  const version = status === 200 && isObject(body) ? String(body['Version']) : '';
  if (Number.parseInt(version, 10) >= firstWithSubpaths) return;
  throw refusal(
    `an agent, as the engine is ${show(version)}: a folder of a volume needs Docker Engine ${firstWithSubpaths} or newer. Update it`,
  );
}

/** Returns the engine's description of itself. Rejects with HUB_ENGINE_REFUSED, whose message contains `what`. */
async function readInfo(engine: Engine, what: string) {
  const { status, body } = await engine.getJson('/info');
  if (status !== 200 || !isObject(body)) throw unanswered(`tell the broker ${what}`, status);
  return body;
}

/** Returns the engine's data folder (`data-root`); undefined if it is not told. Rejects with HUB_ENGINE_REFUSED. */
export async function findEngineData(engine: Engine): Promise<string | undefined> {
  const { DockerRootDir: folder } = await readInfo(engine, 'where it keeps its data');
  return typeof folder === 'string' && folder !== '' ? folder : undefined;
}

/** Returns which limits of containers the engine keeps, as it tells them. Rejects with HUB_ENGINE_REFUSED. */
export async function engineLimits(engine: Engine) {
  const { MemoryLimit, CpuCfsQuota, PidsLimit } = await readInfo(engine, 'which limits it keeps');
  return { MemoryLimit, CpuCfsQuota, PidsLimit };
}

/** Timeout in ms for the sizes of volumes, that of the hub's own call: the engine reads all files in them. */
const measureMs = 10 * 60_000;

/** Returns name and size of each volume whose labels contain this hub's id or name. Rejects with HUB_ENGINE_REFUSED. */
export async function ownVolumes(engine: Engine, hub: HubIdentity) {
  const { status, body } = await engine.getJson('/system/df?type=volume', measureMs);
  if (status !== 200 || !isObject(body))
    throw unanswered('report volume sizes to the broker', status);
  const volumes = Array.isArray(body['Volumes']) ? body['Volumes'].filter(isObject) : [];
  return volumes
    .filter(volume => isOwnVolume(labelsIn(volume), hub))
    .map(({ Name, UsageData }) => ({ Name, UsageData }));
}
