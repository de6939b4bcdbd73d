import { HubError, shortened, shown } from '#core';
import { type FilledInputs, createFilling, literal } from './filling.ts';
import { dockerOptions, oddityOf, oddityOfRemote, optionIn } from './oddities.ts';
import type { Draft, InstallEntry, InstallRequest } from './request.ts';
import type { Argument, ServerJson, ServerPackage, ServerTransport } from './server-json.ts';
import { nameOfRegistered, parseSource } from './source.ts';

const invalid = (message: string, data: { readonly [key: string]: readonly string[] } = {}) =>
  new HubError('HUB_REQUEST_INVALID', message, { data });

/** Returns the config entry for a request. Pure. Throws HUB_REQUEST_INVALID, which names the invalid field. */
export function draftOf(request: InstallRequest): Draft {
  const { source, rest, args, env, headers, transport, variables } = request;
  if ('server' in source) {
    const { entry, ...told } = draftOfServerJson(source.server, request);
    return { ...told, entry: { ...entry, ...rest }, isForeign: request.isForeign === true };
  }
  const parsed = parseSource(source.package);
  if (Object.keys(variables).length > 0)
    throw invalid('variables: goes with "server" only, and fills in its placeholders. Remove it');
  const entry: InstallEntry = {
    ...(parsed.kind === 'url' ? { url: parsed.url } : { package: parsed.package }),
    ...(transport !== undefined && { transport }),
    ...(args && { args }),
    ...unlessEmpty({ env, headers }),
    ...rest,
  };
  return { name: parsed.name, entry, secrets: new Set() };
}

const unlessEmpty = <T extends object>(members: Readonly<Record<string, T>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => Object.keys(value).length > 0));

/** Registry hosts by package type. The hub accepts a package if its publisher names one of these hosts, or none. */
const usualHosts = new Map([
  ['npm', ['registry.npmjs.org']],
  ['pypi', ['pypi.org']],
  ['oci', ['docker.io', 'ghcr.io', 'quay.io', 'gcr.io', 'mcr.microsoft.com']],
]);

/** Returns the entry for the first package or remote that the hub supports. Throws HUB_REQUEST_INVALID. */
function draftOfServerJson(json: ServerJson, given: InstallRequest): Draft {
  const { transport } = given;
  const packages = transport === undefined || transport === 'stdio' ? (json.packages ?? []) : [];
  const remotes = transport === 'stdio' ? [] : (json.remotes ?? []);
  const refusals: string[] = [];
  for (const [index, one] of packages.entries()) {
    const why = refusalOf(one, given);
    if (why === undefined) return draft(json, fromPackage(one, given));
    refusals.push(
      `packages[${index}] (${shortened(`${one.registryType} ${one.identifier}`)}): ${why}`,
    );
  }
  for (const [index, one] of remotes.entries()) {
    const why = remoteRefusalOf(one, given);
    if (why === undefined) return draft(json, fromRemote(one, given));
    refusals.push(`remotes[${index}]: ${why}`);
  }
  throw invalid(
    refusals.length > 0
      ? `server: the hub can use nothing of ${shortened(json.name)}. ${refusals.join('. ')}`
      : `server: ${shortened(json.name)} has neither "packages" nor "remotes"${transport === undefined ? '' : ` for "transport": "${transport}"`}, so there is nothing to install`,
    { refusals },
  );
}

type Part = FilledInputs & { readonly entry: InstallEntry };

function draft({ name, description }: ServerJson, { missing, entry, secrets }: Part): Draft {
  if (missing.length > 0)
    throw invalid(
      `${name} needs values that the request does not give: ${missing.map(({ path, description: what, isSecret }) => `${path}${what ? ` (${what})` : ''}${isSecret ? ', a secret' : ''}`).join('; ')}. Add to it: ${howToGive(missing)}. Set each \${NAME} for the hub, in its environment or in .env, or store it with "agenthub secret set NAME" and write \${secret:NAME}`,
      { missing: missing.map(({ path }) => path) },
    );
  return {
    name: nameOfRegistered(name),
    entry: { ...entry, ...(description !== undefined && { description }) },
    secrets: new Set(secrets),
  };
}

/** Formats the missing values as JSON members of a request, without the outer braces. */
function howToGive(missing: FilledInputs['missing']): string {
  const members = missing.map(({ path, isSecret }) => {
    const [group = '', ...keys] = path.split('.');
    const key = keys.join('.');
    const name = key.replaceAll(/\W+/g, '_').replace(/^_/, '').toUpperCase();
    const text = `${JSON.stringify(key)}: ${isSecret ? `"\${${name}}"` : '"..."'}`;
    return { group: keys.length === 0 ? 'args' : group, text };
  });
  return [...Map.groupBy(members, ({ group }) => group)]
    .map(([group, those]) =>
      group === 'args'
        ? '"args": [all of them]'
        : `"${group}": {${those.map(({ text }) => text).join(', ')}}`,
    )
    .join(', ');
}

export function refusalOf(
  one: ServerPackage,
  given: Pick<InstallRequest, 'rest'>,
): string | undefined {
  const { registryType, registryBaseUrl, transport, fileSha256, version, identifier } = one;
  const hosts = usualHosts.get(registryType);
  if (!hosts) return `packages of ${shown(registryType)} cannot be run; npm, pypi and oci can`;
  if (fileSha256 !== undefined)
    return 'it is to be a file with a certain SHA-256, which the installers do not check';
  if (transport && transport.type !== 'stdio')
    return `it speaks ${shortened(transport.type)} on a port of its own; the hub runs only servers that speak stdio`;
  const host = hostOf(one);
  const isUsual = (usual: string) =>
    host === usual || host === `www.${usual}` || host === `registry-1.${usual}`;
  if (registryBaseUrl !== undefined && !hosts.some(isUsual))
    return `it comes from ${shortened(registryBaseUrl)}, and ${registryType} packages from ${hosts.join(', ')} only`;
  const oddity = oddityOf(one);
  if (oddity !== undefined) return oddity;
  if (version === 'latest' && registryType !== 'oci')
    return 'its version is "latest", which is not a version';
  if (/^-|[\s\0]/.test(`${identifier}${version ?? ''}`)) return 'its identifier is not a name';
  const whys = one.runtimeArguments?.map(argument =>
    runtimeRefusalOf(argument, registryType, given),
  );
  return whys?.find(why => why !== undefined);
}

const hostOf = ({ registryBaseUrl }: ServerPackage) =>
  registryBaseUrl === undefined ? undefined : URL.parse(registryBaseUrl)?.host;

/** Options of `docker run` and `npx` that only request what the hub does anyway. */
const harmless = ['-y', '--yes', '-q', '--quiet', '-i', '--interactive', '--rm', '--init', 'run'];

function runtimeRefusalOf(
  argument: Argument,
  registryType: string,
  { rest }: Pick<InstallRequest, 'rest'>,
): string | undefined {
  const option = optionIn(argument);
  const isOf = (kind: keyof typeof dockerOptions) =>
    registryType === 'oci' && dockerOptions[kind].includes(option);
  if (harmless.includes(option) || isOf('variables')) return undefined;
  if (isOf('mounts'))
    return rest['mounts'] === undefined
      ? `it wants folders of this machine ("${option}"). Say which, in "mounts"`
      : undefined;
  if (isOf('network'))
    return rest['network'] === undefined
      ? `it wants a network ("${option}"). Say "network": "bridge", or "none"`
      : undefined;
  return `the hub does not hand on the option ${shown(option)} of its runtime`;
}

function fromPackage(one: ServerPackage, given: InstallRequest): Part {
  const { registryType, runtimeArguments = [], environmentVariables = [] } = one;
  const filling = createFilling(given.variables);
  const fromOptions = new Map<string, string>();
  for (const argument of registryType === 'oci' ? runtimeArguments : []) {
    if (!dockerOptions.variables.includes(argument.name ?? '')) continue;
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(filling.fill('env', argument) ?? '') ?? [];
    if (name !== undefined) fromOptions.set(name, value);
  }
  const named = filling.named('env', environmentVariables, given.env);
  const env = { ...Object.fromEntries(fromOptions), ...named };
  const args = given.args ?? filling.args(one.packageArguments ?? []);
  return { ...filling.filled, entry: { package: packageText(one), ...unlessEmpty({ args, env }) } };
}

export function packageText(one: ServerPackage): string {
  const { registryType, identifier, version } = one;
  const withVersion = (mark: string) => (version === undefined ? '' : `${mark}${version}`);
  if (registryType === 'npm') return `${identifier}${withVersion('@')}`;
  if (registryType === 'pypi') return `uvx:${identifier}${withVersion('==')}`;
  const host = hostOf(one);
  const hasHost = /^[^/]*[.:][^/]*\//.test(identifier) || identifier.startsWith('localhost/');
  const isHub = host === undefined || host.endsWith('docker.io');
  const path = hasHost || isHub ? identifier : `${host}/${identifier}`;
  const hasTag = path.includes('@') || /:[^/]*$/.test(path);
  return `docker:${path}${hasTag ? '' : withVersion(':')}`;
}

export function remoteRefusalOf(
  remote: ServerTransport,
  { transport }: Pick<InstallRequest, 'transport'>,
): string | undefined {
  const { type, url } = remote;
  const oddity = oddityOfRemote(remote);
  if (oddity !== undefined) return oddity;
  if (type !== 'streamable-http' && type !== 'sse')
    return `it speaks ${shown(type)}; the hub speaks streamable-http and sse`;
  const asked = type === 'sse' ? 'sse' : 'http';
  if (transport !== undefined && transport !== asked)
    return `it speaks ${asked}, and "transport" asks for ${transport}`;
  return url === undefined ? 'it has no "url"' : undefined;
}

function fromRemote(
  { type, url = '', headers: inputs = [], variables }: ServerTransport,
  given: InstallRequest,
): Part {
  const filling = createFilling(given.variables);
  const address = filling.fill('variables', { value: url, variables }) ?? literal(url);
  const headers = filling.named('headers', inputs, given.headers);
  const transport = type === 'sse' ? 'sse' : 'http';
  return { ...filling.filled, entry: { url: address, transport, ...unlessEmpty({ headers }) } };
}
