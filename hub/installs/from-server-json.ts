import { HubError } from '#core';
import { type Filled, createFilling } from './filling.ts';
import type { Draft, Entry, InstallRequest } from './request.ts';
import type { Argument, ServerJson, ServerPackage, ServerTransport } from './server-json.ts';
import { nameOfRegistered } from './source.ts';

type Given = Pick<InstallRequest, 'transport' | 'variables' | 'args' | 'env' | 'headers' | 'rest'>;

/** Registry hosts by package type. The hub accepts a package if its publisher names one of these hosts, or none. */
const usualHosts = new Map([
  ['npm', ['registry.npmjs.org']],
  ['pypi', ['pypi.org']],
  ['oci', ['docker.io', 'ghcr.io', 'quay.io', 'gcr.io', 'mcr.microsoft.com']],
]);

/**
 * Returns the entry for the first of a server's packages and remote addresses that the hub fully supports. Throws
 * HUB_REQUEST_INVALID with the reason for each unsupported one, or with the names of the missing values.
 */
export function entryOfServerJson(json: ServerJson, given: Given): Draft {
  const { transport } = given;
  const packages = transport === undefined || transport === 'stdio' ? (json.packages ?? []) : [];
  const remotes = transport === 'stdio' ? [] : (json.remotes ?? []);
  const refusals: string[] = [];
  for (const [index, one] of packages.entries()) {
    const why = refusalOf(one, given);
    if (why === undefined) return draft(json, fromPackage(one, given));
    refusals.push(`packages[${index}] (${one.registryType} ${one.identifier}): ${why}`);
  }
  for (const [index, one] of remotes.entries()) {
    const why = remoteRefusalOf(one, given);
    if (why === undefined) return draft(json, fromRemote(one, given));
    refusals.push(`remotes[${index}]: ${why}`);
  }
  throw new HubError(
    'HUB_REQUEST_INVALID',
    refusals.length > 0
      ? `server: the hub can use nothing of ${json.name}. ${refusals.join('. ')}`
      : `server: ${json.name} has neither "packages" nor "remotes"${transport === undefined ? '' : ` for "transport": "${transport}"`}, so there is nothing to install`,
    { data: { refusals } },
  );
}

type Part = Filled & { readonly entry: Entry };

function draft({ name, description }: ServerJson, part: Part): Draft {
  if (part.missing.length > 0)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${name} needs values that the request does not give: ${part.missing.map(({ path, description: what, isSecret }) => `${path}${what ? ` (${what})` : ''}${isSecret ? ', a secret' : ''}`).join('; ')}. Add to it: ${howToGive(part.missing)}. Set each \${NAME} for the hub, in its environment or in .env`,
      { data: { missing: part.missing.map(({ path }) => path) } },
    );
  return {
    name: nameOfRegistered(name),
    entry: { ...part.entry, ...(description !== undefined && { description }) },
    secrets: new Set(part.secrets),
  };
}

/** Formats the missing values as members of a request: JSON without the outer braces. */
function howToGive(missing: Filled['missing']): string {
  const groups = new Map<string, string[]>();
  for (const { path, isSecret } of missing) {
    const dot = path.indexOf('.');
    const [group, key] = dot < 0 ? ['args', ''] : [path.slice(0, dot), path.slice(dot + 1)];
    const name = key.replaceAll(/\W+/g, '_').replace(/^_/, '').toUpperCase();
    const members = groups.get(group) ?? [];
    groups.set(group, [
      ...members,
      `${JSON.stringify(key)}: ${isSecret ? `"\${${name}}"` : '"..."'}`,
    ]);
  }
  const parts = [...groups].map(([group, members]) =>
    group === 'args' ? '"args": [all of them]' : `"${group}": {${members.join(', ')}}`,
  );
  return parts.join(', ');
}

function refusalOf(one: ServerPackage, given: Given): string | undefined {
  const { registryType, registryBaseUrl, transport, fileSha256, version, identifier } = one;
  const hosts = usualHosts.get(registryType);
  if (!hosts) return `packages of "${registryType}" cannot be run; npm, pypi and oci can`;
  if (fileSha256 !== undefined)
    return 'it is to be a file with a certain SHA-256, which the installers do not check';
  if (transport && transport.type !== 'stdio')
    return `it speaks ${transport.type} on a port of its own; the hub speaks stdio to what it runs`;
  const host = registryBaseUrl === undefined ? undefined : URL.parse(registryBaseUrl)?.host;
  if (
    registryBaseUrl !== undefined &&
    !hosts.some(
      usual => host === usual || host === `www.${usual}` || host === `registry-1.${usual}`,
    )
  )
    return `it comes from ${registryBaseUrl}, and ${registryType} packages from ${hosts.join(', ')} only`;
  if (version === 'latest' && registryType !== 'oci')
    return 'its version is "latest", which is none';
  if (/^-|[\s\0]/.test(`${identifier}${version ?? ''}`)) return 'its identifier is no name';
  for (const argument of one.runtimeArguments ?? []) {
    const why = runtimeRefusalOf(argument, registryType, given);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Options of `docker run` and `npx` that only request what the hub does by default. */
const harmless = ['-y', '--yes', '-q', '--quiet', '-i', '--interactive', '--rm', '--init', 'run'];
const mountOptions = ['--mount', '-v', '--volume'];
const variableOptions = ['-e', '--env'];

function runtimeRefusalOf(
  { name, value, type }: Argument,
  registryType: string,
  { rest }: Given,
): string | undefined {
  const option = (type === 'named' ? name : value) ?? '';
  if (harmless.includes(option)) return undefined;
  if (registryType === 'oci') {
    if (variableOptions.includes(option)) return undefined;
    if (mountOptions.includes(option))
      return rest['mounts'] === undefined
        ? `it wants folders of this machine ("${option}"). Say which, in "mounts"`
        : undefined;
    if (option === '--network' || option === '--net')
      return rest['network'] === undefined
        ? `it wants a network ("${option}"). Say "network": "bridge", or "none"`
        : undefined;
  }
  return `the hub does not hand on the option ${JSON.stringify(option)} of its runtime`;
}

function fromPackage(one: ServerPackage, given: Given): Part {
  const { registryType, registryBaseUrl, identifier, version } = one;
  const filling = createFilling(given.variables);
  const fromOptions = (one.runtimeArguments ?? [])
    .filter(({ name }) => registryType === 'oci' && variableOptions.includes(name ?? ''))
    .map(argument => filling.fill('env', argument));
  const optionEnv = Object.fromEntries(
    fromOptions.flatMap(text => {
      const at = text?.indexOf('=') ?? -1;
      return text === undefined || at < 1 ? [] : [[text.slice(0, at), text.slice(at + 1)]];
    }),
  );
  const env = {
    ...optionEnv,
    ...filling.named('env', one.environmentVariables ?? [], given.env),
  };
  const args = given.args ?? filling.args(one.packageArguments ?? []);
  const host = registryBaseUrl === undefined ? undefined : URL.parse(registryBaseUrl)?.host;
  return {
    ...filling.filled(),
    entry: {
      package: packageText(registryType, identifier, version, host),
      ...(args.length > 0 && { args }),
      ...(Object.keys(env).length > 0 && { env }),
    },
  };
}

function packageText(
  registryType: string,
  identifier: string,
  version: string | undefined,
  host: string | undefined,
): string {
  if (registryType === 'npm')
    return version === undefined ? identifier : `${identifier}@${version}`;
  if (registryType === 'pypi')
    return `uvx:${identifier}${version === undefined ? '' : `==${version}`}`;
  const hasHost = /^[^/]*[.:][^/]*\//.test(identifier) || identifier.startsWith('localhost/');
  const isHub = host === undefined || host.endsWith('docker.io');
  const path = hasHost || isHub ? identifier : `${host}/${identifier}`;
  const hasTag = path.includes('@') || /:[^/]*$/.test(path);
  return `docker:${path}${hasTag || version === undefined ? '' : `:${version}`}`;
}

function remoteRefusalOf({ type, url }: ServerTransport, { transport }: Given): string | undefined {
  if (type !== 'streamable-http' && type !== 'sse')
    return `it speaks "${type}"; the hub speaks streamable-http and sse`;
  const asked = type === 'sse' ? 'sse' : 'http';
  if (transport !== undefined && transport !== asked)
    return `it speaks ${asked}, and "transport" asks for ${transport}`;
  return url === undefined ? 'it has no "url"' : undefined;
}

function fromRemote(
  { type, url = '', headers = [], variables }: ServerTransport,
  given: Given,
): Part {
  const filling = createFilling(given.variables);
  const address = filling.fill('variables', { value: url, variables }) ?? url;
  const values = filling.named('headers', headers, given.headers);
  return {
    ...filling.filled(),
    entry: {
      url: address,
      transport: type === 'sse' ? 'sse' : 'http',
      ...(Object.keys(values).length > 0 && { headers: values }),
    },
  };
}
