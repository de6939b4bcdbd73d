import { dirname, resolve } from 'node:path';
import { HubError, isObject } from '#core';
import type { Config, ServerConfig } from './config.ts';
import { findEngineSocket } from './sandbox-escapes.ts';
import { type Document, documentOf, locateProblem } from './document.ts';
import { type Environment, expandServer } from './expand-variables.ts';
import { gatherFiles } from './extends.ts';
import { type FileSnapshot, type ReadText, readText } from './files.ts';
import { type MountGuard, createMountGuard } from './mount-guard.ts';
import type { GuardedPlace } from './guarded-places.ts';
import { problemsOf } from './issues.ts';
import type { Path } from './source-map.ts';
import { type Form, isEnabled, normalizeServer } from './normalize.ts';
import { originOf } from './origin.ts';
import { type Problem, invalidFile, pathText } from './problem.ts';
import { envelopeSchema } from './schema.ts';
import { serverName, serverSchema } from './server-schema.ts';

export type LoadOptions = {
  /** Variables for `${NAME}`. */
  readonly env: Environment;
  /** Home folder, for `~`. Absolute. */
  readonly home: string;
  /** The hub's own files and folders, which no server may write to. */
  readonly ownPlaces?: readonly GuardedPlace[];
  /** Config files of MCP clients, which no server may write to. Called only for writable mounts. */
  readonly clientFiles?: (home: string) => Promise<readonly string[]>;
};

/** Result of reading a config, and all files that it depends on, even if it is invalid. */
export type ConfigReading = {
  /** The config file first, then the files that it extends. */
  readonly files: readonly FileSnapshot[];
} & (
  | { readonly config: Config; readonly error?: undefined }
  | { readonly error: HubError; readonly config?: undefined }
);

const forms: readonly Form[] = ['servers', 'mcpServers'];

/**
 * Reads a config file (JSON or YAML, by its extension) and the files that it extends. Throws HUB_CONFIG_MISSING if
 * the file does not exist, and HUB_CONFIG_INVALID with all problems: file, line, path, value and remedy.
 */
export async function loadConfig(file: string, options: LoadOptions): Promise<Config> {
  const reading = await readConfig(file, options);
  if (reading.error) throw reading.error;
  return reading.config;
}

/** Like `loadConfig`, but also returns the files that were read, and returns errors instead of throwing them. */
export async function readConfig(
  file: string,
  {
    env,
    home,
    ownPlaces = [],
    clientFiles = async () => [],
    ...options
  }: LoadOptions & { readonly readText?: ReadText },
): Promise<ConfigReading> {
  const read = options.readText ?? readText;
  const gathered = await gatherFiles(file, { home, readText: read });
  const { root, complete, problems: found, files, error } = gathered;
  if (error) return { files, error };
  // If an extended file is missing, most further problems would be consequences of that.
  if (!root || !complete) return { files, error: invalidFile(found) };
  const document = documentOf(root);
  const extended = files.length > 1;
  const configFiles = files.map(({ path }) => path);
  const guard = createMountGuard({ home, env, configFiles, ownPlaces, clientFiles });
  const { config, problems } = await configOf(document, { env, home, extended, guard });
  const all = [...found, ...problems.map(problem => locateProblem(problem, document))];
  return all.length > 0 || !config ? { files, error: invalidFile(all) } : { files, config };
}

/** `extended`: the config consists of more than one file. */
type Context = Pick<LoadOptions, 'env' | 'home'> & {
  readonly extended: boolean;
  readonly guard: MountGuard;
};
type Found<T> = { readonly problems: readonly Problem[] } & T;

async function configOf(
  document: Document,
  context: Context,
): Promise<Found<{ readonly config?: Config }>> {
  const envelope = envelopeSchema.safeParse(document.value);
  const outside = envelope.error ? problemsOf(envelope.error.issues, []) : [];
  const named = forms.flatMap(form =>
    Array.from(new Set(document.keysAt([form])), name => ({ form, name })),
  );
  const read = await Promise.all(
    named.map(({ form, name }) => readServer(document, { form, name }, context)),
  );
  const problems = [
    ...outside,
    ...findMissingServers(document),
    ...read.flatMap(each => each.problems),
  ];
  if (!envelope.success) return { problems };
  const { separator, max_length: maxLength } = envelope.data.naming;
  const servers = read.flatMap(({ server }) => server ?? []);
  const { listen, token, administration, management_tools: managementTools } = envelope.data;
  const secret = expandServer(token === undefined ? {} : { token }, [], context.env);
  const { token: expanded } = isObject(secret.value) ? secret.value : {};
  return {
    config: {
      servers,
      naming: { separator, maxLength },
      ...(listen && { listen: withoutAbsent(listen) }),
      ...(typeof expanded === 'string' && { token: expanded }),
      ...(administration && { administration }),
      ...(managementTools && { managementTools }),
    },
    problems: [...problems, ...secret.problems],
  };
}

/** Removes undefined members. */
const withoutAbsent = ({
  host,
  port,
}: {
  host?: string | undefined;
  port?: number | undefined;
}) => ({
  ...(host !== undefined && { host }),
  ...(port !== undefined && { port }),
});

function findMissingServers({ value }: Document): readonly Problem[] {
  if (!isObject(value) || forms.some(form => value[form] !== undefined)) return [];
  const text = 'holds neither "servers" nor "mcpServers": add one, such as "servers": {}';
  return [{ path: [], text }];
}

async function readServer(
  document: Document,
  { form, name }: { readonly form: Form; readonly name: string },
  { env, home, extended, guard }: Context,
): Promise<Found<{ readonly server?: ServerConfig | undefined }>> {
  const path = [form, name];
  const named = serverName.safeParse(name);
  const group = isObject(document.value) ? document.value[form] : undefined;
  const written = isObject(group) ? group[name] : undefined;
  if (extended && written === null) return { problems: [{ path, text: nothingToRemove }] };
  const problems: Problem[] = named.error
    ? [...problemsOf(named.error.issues, path)].map(withoutValue)
    : [];
  const { value, unresolved, problems: missing } = expandServer(written, path, env);
  // Variables of a disabled server may be missing until it is enabled.
  if (!isObject(written) || isEnabled(switchesOf(written))) problems.push(...missing);
  const entry = serverSchema.safeParse(value);
  if (entry.error) {
    problems.push(...problemsOf(entry.error.issues, path));
    return { problems };
  }
  const draft = {
    name,
    form,
    home,
    engineSocket: findEngineSocket(env),
    guard,
    folderOf: (key: string) => dirname(resolve(document.locationOf([...path, key]).source.file)),
    entry: entry.data,
    written: new Set(isObject(value) ? Object.keys(value) : []),
  };
  const server = await normalizeServer(draft, (inside, text, showsValue = false) => {
    const at: Path = [...path, ...inside];
    // Skip values with unexpanded variables: their final value is unknown.
    if (!unresolved.has(pathText(at))) problems.push({ path: at, text, showsValue });
  });
  return { server: server && { ...server, origin: originOf(written) }, problems };
}

const nothingToRemove =
  'null removes a server of a file in "extends", and none of these files has this server: remove it, or write an object: {...}';

const switchesOf = (entry: { readonly [key: string]: unknown }) => ({
  disabled: entry['disabled'] === true,
  enabled: entry['enabled'] !== false,
});

/** Drops the value from the message, because the path already contains the name. */
const withoutValue = ({ path, text }: Problem): Problem => ({ path, text });
