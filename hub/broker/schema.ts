import { z } from 'zod';
import { refusal } from './refusal.ts';
import { show } from './target.ts';

/** The labels by which what is ours is known; the hub's driver writes the same. */
export const hubLabel = 'io.agenthub.hub';
export const managedLabel = 'io.agenthub.managed';
export const baseLabel = 'io.agenthub.base';
/** On volumes: the name of the hub that made it, which is the same however the hub is started. */
export const nameLabel = 'io.agenthub.name';

export type Owner = {
  /** The value of the hub's label. */
  readonly hubId: string;
  /** The prefix of every name, and the compose project that containers are grouped under. */
  readonly hubName: string;
};

export const text = z
  .string()
  .max(65_536)
  .regex(/^[^\0]*$/);

/** An absolute path in a container that cannot be read in two ways. */
export const containerPath = z
  .string()
  .max(4096)
  .refine(isPlainPath, { error: 'must be an absolute path without empty, "." or ".." parts' })
  .refine(path => !/^\/(proc|sys|dev)(\/|$)/.test(path), {
    error: 'must not lie in /proc, /sys or /dev',
  });

/** Absolute, below the root, and without parts that are resolved by looking at a file system. */
export function isPlainPath(path: string): boolean {
  if (!path.startsWith('/') || path.includes('\0')) return false;
  return path
    .slice(1)
    .split('/')
    .every(part => part !== '' && part !== '.' && part !== '..');
}

/** The name of a container, network or volume of this hub. */
export function ownName({ hubName }: Owner) {
  return z
    .string()
    .max(255)
    .regex(/^[a-zA-Z0-9_.-]*$/)
    .startsWith(`${hubName}-`);
}

/** Labels of ours and of compose, nothing else: other tools act on labels. The hub's own is always there. */
export function ownLabels({ hubId, hubName }: Owner) {
  return z
    .strictObject({
      [hubLabel]: z.literal(hubId).default(hubId),
      [managedLabel]: z.literal('true').default('true'),
      'io.agenthub.server': text.optional(),
      'io.agenthub.instance': text.optional(),
      'io.agenthub.digest': text.optional(),
      'com.docker.compose.project': z.literal(hubName).optional(),
      // Never the name of a service in the compose file: compose would take the container for that service.
      'com.docker.compose.service': z.string().startsWith('mcp-').max(255).optional(),
      'com.docker.compose.oneoff': z.literal('False').optional(),
      'com.docker.compose.container-number': z
        .string()
        .regex(/^\d{1,7}$/)
        .optional(),
      'com.docker.compose.config-hash': text.optional(),
      'com.docker.compose.project.config_files': z.literal('').optional(),
    })
    .prefault({});
}

/** The labels of a volume: what a server keeps outlives the hub's id, and not its name. */
export function volumeLabels({ hubId, hubName }: Owner) {
  return z
    .strictObject({
      [hubLabel]: z.literal(hubId).default(hubId),
      [managedLabel]: z.literal('true').default('true'),
      [nameLabel]: z.literal(hubName).default(hubName),
    })
    .prefault({});
}

/** A list of words: arguments, variables. */
export const words = z.array(text).max(4096);

/**
 * The body again, from admitted fields with admitted values. Throws at the first thing that is not: the
 * engine reads keys without regard to case, so a key that is not exactly one of ours is refused, not dropped.
 */
export function rebuildBody<T>(body: string, schema: z.ZodType<T>, what: string): T {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw refusal(`a body of ${what} that is not JSON`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw refusal(issue === undefined ? `this body of ${what}` : sentence(issue, value, what));
}

function sentence(issue: z.core.$ZodIssue, body: unknown, what: string): string {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const key = [...path, issue.keys[0] ?? ''].join('.');
    return `the key ${show(key)} in the body of ${what}`;
  }
  const where = path.length === 0 ? `the body of ${what}` : `${show(path.join('.'))} of ${what}`;
  // Variables are secrets, and so may be what a command line holds.
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
