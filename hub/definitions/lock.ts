import { HubError, isObject, messageOf } from '#core';
import {
  type Definition,
  type DefinitionMembers,
  type PinnedKind,
  definitionWith,
} from './definition.ts';

/** Accepted and rejected definitions of one item. */
export type DefinitionPin = {
  /** Absent if no definition of the item was accepted. */
  readonly accepted?: Definition;
  /** Hashes of definitions that a person rejected, the oldest first. */
  readonly rejected?: readonly string[];
};

/** The pins of one server. */
export type ServerPins = {
  /** Digest of the package, image, command or URL in the config entry. If it changes, the server is pinned again. */
  readonly entry: string;
  readonly pins: Readonly<Record<PinnedKind, ReadonlyMap<string, DefinitionPin>>>;
};

/** The content of a lock file: pins by server name. */
export type Lock = ReadonlyMap<string, ServerPins>;

/** Maximum size of the stored definitions of one server, in characters. Above it, only hashes are stored. */
const maxStored = 4_000_000;

const version = 1;

/** Returns the text of a lock file. Equal pins give equal texts. */
export function lockText(lock: Lock): string {
  const servers = sortedEntries(lock).map(([name, server]) => [name, serverJson(server)]);
  return `${JSON.stringify({ version, servers: Object.fromEntries(servers) }, undefined, 2)}\n`;
}

function serverJson({ entry, pins }: ServerPins): object {
  let left = maxStored;
  const pinJson = ({ accepted, rejected = [] }: DefinitionPin) => {
    const length = accepted?.value ? JSON.stringify(accepted.value).length : 0;
    left -= length;
    return {
      ...(accepted && { hash: accepted.hash }),
      ...(accepted?.value && left >= 0 && { definition: accepted.value }),
      ...(rejected.length > 0 && { rejected }),
    };
  };
  const all = (kind: PinnedKind) =>
    Object.fromEntries(sortedEntries(pins[kind]).map(([name, pin]) => [name, pinJson(pin)]));
  const instructions = pins.instructions.get('');
  return {
    entry,
    ...(instructions && { instructions: pinJson(instructions) }),
    tools: all('tool'),
    prompts: all('prompt'),
  };
}

const sortedEntries = <T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
  [...map].sort(([one], [other]) => (one < other ? -1 : 1));

/** Parses a lock file. Throws HUB_LOCK_INVALID, with the position in the file and the remedy. */
export function parseLock(text: string, file: string): Lock {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw lockInvalid(file, messageOf(error));
  }
  if (!isObject(value)) throw lockInvalid(file, 'it is not an object');
  if (value['version'] !== version)
    throw lockInvalid(file, `"version" is ${JSON.stringify(value['version'])}, not ${version}`);
  const { servers } = value;
  if (!isObject(servers)) throw lockInvalid(file, '"servers" is not an object');
  return new Map(
    Object.entries(servers).map(([name, server]) => [
      name,
      readServerPins(server, `servers.${name}`, file),
    ]),
  );
}

export const lockInvalid = (file: string, why: string): HubError =>
  new HubError(
    'HUB_LOCK_INVALID',
    `${file}: ${why}. It stays as it is, and nothing is pinned or accepted. Restore it from version control, or remove it to pin what the servers say now`,
  );

function readServerPins(value: unknown, at: string, file: string): ServerPins {
  if (!isObject(value)) throw lockInvalid(file, `${at} is not an object`);
  const { entry, instructions } = value;
  if (typeof entry !== 'string') throw lockInvalid(file, `${at}.entry is not a string`);
  const group = (member: 'tools' | 'prompts') => {
    const pins = value[member];
    if (!isObject(pins)) throw lockInvalid(file, `${at}.${member} is not an object`);
    return new Map(
      Object.entries(pins).map(([name, pin]) => [
        name,
        readPin(pin, `${at}.${member}.${name}`, file),
      ]),
    );
  };
  const text =
    instructions === undefined
      ? []
      : [['', readPin(instructions, `${at}.instructions`, file)] as const];
  return {
    entry,
    pins: {
      tool: group('tools'),
      prompt: group('prompts'),
      instructions: new Map(text),
    },
  };
}

function readPin(value: unknown, at: string, file: string): DefinitionPin {
  if (!isObject(value)) throw lockInvalid(file, `${at} is not an object`);
  const { hash, definition, rejected } = value;
  const hashes = Array.isArray(rejected) ? rejected.filter(one => typeof one === 'string') : [];
  const others = hashes.length > 0 ? { rejected: hashes } : {};
  if (hash === undefined && hashes.length > 0) return others;
  if (typeof hash !== 'string') throw lockInvalid(file, `${at}.hash is not a string`);
  if (definition === undefined) return { accepted: { hash }, ...others };
  if (!isObject(definition)) throw lockInvalid(file, `${at}.definition is not an object`);
  if (hashIn(definition) !== hash)
    throw lockInvalid(file, `${at} was edited: its "hash" is not that of its "definition"`);
  return { accepted: { hash, value: definition }, ...others };
}

function hashIn(definition: DefinitionMembers): string | undefined {
  try {
    return definitionWith(definition).hash;
  } catch {
    return undefined; // Too deeply nested to have been written by the hub.
  }
}
