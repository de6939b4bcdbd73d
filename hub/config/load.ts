import { readFile } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { HubError, isObject, messageOf } from '#core';
import type { Config, ServerConfig } from './config.ts';
import { findEngineSocket } from './danger.ts';
import { type Document, parseText } from './document.ts';
import { type Environment, expandServer } from './env.ts';
import { problemsOf } from './issues.ts';
import { type Form, isEnabled, normalizeServer } from './normalize.ts';
import { type Path, type Problem, invalidFile, pathText } from './problem.ts';
import type { Machine } from './sandbox.ts';
import { envelopeSchema, serverName, serverSchema } from './schema.ts';

export type LoadOptions = {
  /** Where `${NAME}` is looked up. */
  readonly env: Environment;
  /** What `~` stands for: an absolute path. */
  readonly home: string;
};

const forms: readonly Form[] = ['servers', 'mcpServers'];

/**
 * Reads a config file, JSON or YAML by its extension. Throws HUB_CONFIG_MISSING where there is no
 * such file and HUB_CONFIG_INVALID with all that is wrong with it: file, line, path, value, remedy.
 */
export async function loadConfig(file: string, options: LoadOptions): Promise<Config> {
  const format = formatOf(file);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const { document, problems: syntax } = await parseText(text, format);
  const source = { file, value: document.value, placeOf: document.placeOf };
  if (document.value === undefined) throw invalidFile(source, syntax);
  const { config, problems } = await configOf(document, {
    ...options,
    folder: dirname(resolve(file)),
    engineSocket: findEngineSocket(options.env),
  });
  const all = [...syntax, ...problems];
  if (all.length > 0 || !config) throw invalidFile(source, all);
  return config;
}

function formatOf(file: string): 'json' | 'yaml' {
  const extension = extname(file).toLowerCase();
  if (extension === '.json' || extension === '.jsonc') return 'json';
  if (extension === '.yaml' || extension === '.yml') return 'yaml';
  throw new HubError(
    'HUB_CONFIG_INVALID',
    `${file}: the name of a config file ends in .json, .jsonc, .yaml or .yml, which says how it is written. Rename it`,
  );
}

function unreadable(file: string, error: unknown): HubError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new HubError(
      'HUB_CONFIG_MISSING',
      `${file}: there is no such file. Write one that holds {"servers": {}}, or name another with --config or MCP_SERVERS_CONFIG`,
      { cause: error },
    );
  const why =
    code === 'EISDIR'
      ? 'it is a folder. Name a file in it'
      : `it cannot be read (${messageOf(error)})`;
  return new HubError('HUB_CONFIG_INVALID', `${file}: ${why}`, { cause: error });
}

type Context = LoadOptions & Machine;
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
  const problems = [...outside, ...formProblems(document), ...read.flatMap(each => each.problems)];
  if (!envelope.success) return { problems };
  const { separator, max_length: maxLength } = envelope.data.naming;
  const servers = read.flatMap(({ server }) => server ?? []);
  return { config: { servers, naming: { separator, maxLength } }, problems };
}

/** What is wrong with the two forms together. */
function formProblems({ value, keysAt }: Document): readonly Problem[] {
  if (!isObject(value)) return [];
  if (value['servers'] === undefined && value['mcpServers'] === undefined)
    return [
      {
        path: [],
        text: 'holds neither "servers" nor "mcpServers": add one, such as "servers": {}',
      },
    ];
  const names = keysAt(['servers']);
  return keysAt(['mcpServers'])
    .filter(name => names.includes(name))
    .map(name => ({
      path: ['mcpServers', name],
      text: `${JSON.stringify(name)} is a server in "servers" too: rename or remove one`,
    }));
}

async function readServer(
  document: Document,
  { form, name }: { readonly form: Form; readonly name: string },
  { env, ...machine }: Context,
): Promise<Found<{ readonly server?: ServerConfig | undefined }>> {
  const path = [form, name];
  const named = serverName.safeParse(name);
  const problems: Problem[] = named.error
    ? [...problemsOf(named.error.issues, path)].map(withoutValue)
    : [];
  const group = isObject(document.value) ? document.value[form] : undefined;
  const written = isObject(group) ? group[name] : undefined;
  const { value, unresolved, problems: missing } = expandServer(written, path, env);
  // What a disabled server lacks does not matter until it is enabled.
  if (!isObject(written) || isEnabled(switches(written))) problems.push(...missing);
  const entry = serverSchema.safeParse(value);
  if (entry.error) {
    problems.push(...problemsOf(entry.error.issues, path));
    return { problems };
  }
  const draft = {
    name,
    form,
    ...machine,
    entry: entry.data,
    written: new Set(isObject(value) ? Object.keys(value) : []),
  };
  const server = await normalizeServer(draft, (inside, text, showsValue = false) => {
    const at: Path = [...path, ...inside];
    // Nothing can be said about a value that is not known.
    if (!unresolved.has(pathText(at))) problems.push({ path: at, text, showsValue });
  });
  return { server, problems };
}

const switches = (entry: { readonly [key: string]: unknown }) => ({
  disabled: entry['disabled'] === true,
  enabled: entry['enabled'] !== false,
});

/** The name is in the path already. */
const withoutValue = ({ path, text }: Problem): Problem => ({ path, text });
