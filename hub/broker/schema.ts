import { z } from 'zod';
import { tryParseJson } from '#core';
import { refusal, show } from './refusal.ts';

/** Labels that mark objects of a hub. The hub's Docker runtime writes the same labels. */
export const hubLabel = 'io.agenthub.hub';
export const managedLabel = 'io.agenthub.managed';
export const baseLabel = 'io.agenthub.base';
export const packageLabel = 'io.agenthub.package';
/** Label on volumes: name of the hub that created the volume, which is the same however the hub is started. */
export const nameLabel = 'io.agenthub.name';

export type HubIdentity = {
  /** Value of the label `io.agenthub.hub`. */
  readonly hubId: string;
  /** Prefix of the names of all objects, and the compose project of the containers. */
  readonly hubName: string;
  /** Volume with the hub's data. Agents get their folders of it, servers nothing. Absent: no agents. */
  readonly dataVolume?: string;
  /** Prefix of the names of agents' networks. */
  readonly agentNetwork?: string;
};

/** Schema of a text that matches the expression. */
export const matching = (expression: RegExp, error?: string) =>
  z.string().regex(expression, error === undefined ? {} : { error });

const text = matching(/^[^\0]*$/).max(65_536);

/** Schema of an unambiguous absolute path. */
export const plainPath = z.string().max(4096).refine(isPlainPath, {
  error: 'must be an absolute path without empty, "." or ".." parts',
});

export const containerPath = plainPath.refine(path => !/^\/(proc|sys|dev)(\/|$)/.test(path), {
  error: 'must not lie in /proc, /sys or /dev',
});

/** True if a path is absolute, not the root itself, and without empty, "." or ".." parts. */
export function isPlainPath(path: string): boolean {
  const [first, ...parts] = path.split('/');
  const isPlain = (part: string) => part !== '' && part !== '.' && part !== '..';
  return first === '' && parts.length > 0 && parts.every(isPlain) && !path.includes('\0');
}

/** Schema of an object name of this hub. */
export const ownName = ({ hubName }: HubIdentity) =>
  matching(/^[a-zA-Z0-9_.-]*$/)
    .max(255)
    .startsWith(`${hubName}-`);

/** True for the name of a build's network. No server has such a name, as server names have no dot. */
export const isBuildName = (name: string, { hubName }: HubIdentity): boolean =>
  name.startsWith(`${hubName}-.build-`);

/** Schema of the name of a network of this hub, which belongs to a container or an agent. */
export const ownNetworkName = (owner: HubIdentity) =>
  z.union([
    ownName(owner),
    matching(/^[a-zA-Z0-9_.-]*-[a-z0-9][a-z0-9-]{0,62}$/)
      .max(255)
      .startsWith(`${owner.agentNetwork ?? owner.hubName}-`),
  ]);

/**
 * Returns the name of the only network that a container of this hub may be in. The network of an agent has the agent's
 * name.
 */
export function networkOf(container: string, { hubName, agentNetwork }: HubIdentity): string {
  const prefix = `${hubName}-.agent-`;
  return agentNetwork !== undefined && container.startsWith(prefix)
    ? `${agentNetwork}-${container.slice(prefix.length)}`
    : container;
}

/** Labels of every object of this hub. They are added if they are missing. */
const hubLabels = ({ hubId }: HubIdentity) => ({
  [hubLabel]: z.literal(hubId).default(hubId),
  [managedLabel]: z.literal('true').default('true'),
});

/** Schema of an object's labels: only those of the hub and of compose, because other tools act on labels. */
export const ownLabels = (owner: HubIdentity) =>
  z
    .strictObject({
      ...hubLabels(owner),
      'io.agenthub.server': text.optional(),
      'io.agenthub.instance': text.optional(),
      'io.agenthub.digest': text.optional(),
      'com.docker.compose.project': z.literal(owner.hubName).optional(),
      // Never a service name of the compose file, as compose would adopt the container as that service.
      'com.docker.compose.service': z.string().startsWith('mcp-').max(255).optional(),
      'com.docker.compose.oneoff': z.literal('False').optional(),
      'com.docker.compose.container-number': matching(/^\d{1,7}$/).optional(),
      'com.docker.compose.config-hash': text.optional(),
      'com.docker.compose.project.config_files': z.literal('').optional(),
    })
    .prefault({});

/** Schema of a volume's labels. A volume outlives the hub's id, so it also carries the hub's name. */
export const volumeLabels = (owner: HubIdentity) =>
  z
    .strictObject({
      ...hubLabels(owner),
      [nameLabel]: z.literal(owner.hubName).default(owner.hubName),
    })
    .prefault({});

/** Schema of a list of strings: arguments or variables. */
export const words = z.array(text).max(4096);

/**
 * Rebuilds a JSON body from the fields of the schema. Throws HUB_BROKER_REFUSED at the first unknown field or
 * bad value. Unknown keys are refused rather than dropped, because the engine ignores the case of keys. `what`
 * names the object in messages.
 */
export function rebuildBody<T>(body: string, schema: z.ZodType<T>, what: string): T {
  const value = tryParseJson(body);
  if (value === undefined) throw refusal(`a body of ${what} that is not JSON`);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw refusal(issue === undefined ? `this body of ${what}` : describeIssue(issue, value, what));
}

function describeIssue(issue: z.core.$ZodIssue, body: unknown, what: string): string {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const key = [...path, issue.keys[0] ?? ''].join('.');
    return `the key ${show(key)} in the body of ${what}`;
  }
  const where = path.length === 0 ? `the body of ${what}` : `${show(path.join('.'))} of ${what}`;
  // Variables and command lines may contain secrets.
  const secret = ['Env', 'Cmd', 'Entrypoint'].includes(path[0] ?? '');
  const given = secret ? '' : ` with the value ${show(valueAt(body, issue.path))}`;
  return `${where}${given}: ${issue.message}`;
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined,
    body,
  );
}
