import type { PackageSpec } from '#config';
import {
  type Clock,
  HubError,
  createAbortScope,
  decodePercent,
  isObject,
  messageOf,
  readText,
  tryParseJson,
} from '#core';
import { exactVersions, specForms } from './upgrades/versions.ts';

/** Addresses of the registries that installers use. */
type Registries = {
  readonly npm: string;
  /** A Python index as pip and uv accept it, ending in `/simple`. */
  readonly pypi: string;
};

/** Finds the exact version of a package that is given without one. */
export type Pins = ReturnType<typeof createPins>;

type Needs = {
  readonly clock: Pick<Clock, 'after'>;
  readonly fetch: typeof globalThis.fetch;
};

const defaults: Registries = {
  npm: 'https://registry.npmjs.org',
  pypi: 'https://pypi.org/simple',
};
/** Timeout for a registry's response, in ms. */
const askMs = 20_000;
/** Timeout for a registry that is only queried for a hint, in ms. */
const hintMs = 3_000;
/** Maximum size of a response, in bytes. Metadata of a package with many releases has several megabytes. */
const maxAnswerBytes = 32 * 2 ** 20;
const shownCharacters = 300;

/** Returns the registries in the environment variables of npm, pip and uv; by default the public ones. */
export function registriesOf(
  environment: Readonly<Record<string, string | undefined>>,
): Registries {
  const first = (...names: readonly string[]) =>
    names
      .map(name => environment[name]?.trim().replace(/\/+$/, ''))
      .find(value => value !== undefined && /^https?:\/\/\S+$/.test(value));
  return {
    npm: first('NPM_CONFIG_REGISTRY', 'npm_config_registry') ?? defaults.npm,
    pypi: first('UV_DEFAULT_INDEX', 'UV_INDEX_URL', 'PIP_INDEX_URL') ?? defaults.pypi,
  };
}

/** Creates pins that query the npm and PyPI registries. */
export function createPins(registries: Registries, needs: Needs) {
  async function ask(spec: string, url: URL, signal: AbortSignal): Promise<unknown> {
    const { username, password } = url;
    url.username = '';
    url.password = '';
    const credentials = `${decodePercent(username)}:${decodePercent(password)}`;
    const headers = {
      accept: 'application/json',
      ...(username && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    };
    let status: number;
    let text: string;
    try {
      using timed = createAbortScope([signal], { clock: needs.clock, limitMs: askMs });
      const response = await needs.fetch(url, { headers, signal: timed.signal });
      ({ status } = response);
      text = await readText(response, maxAnswerBytes);
    } catch (error) {
      signal.throwIfAborted();
      throw away(spec, url, messageOf(error), error);
    }
    if (status === 404 || status === 401 || status === 403)
      throw new HubError(
        'HUB_PACKAGE_UNKNOWN',
        `${url.host} has no package ${JSON.stringify(spec)}: ${url.href} answers ${status}${quoted(text)}. Check the name and the version, ${remedy}`,
        { data: { package: spec } },
      );
    if (status !== 200) throw away(spec, url, `it answers ${status}${quoted(text)}`);
    return tryParseJson(text);
  }

  async function pinned(source: PackageSpec, signal: AbortSignal): Promise<PackageSpec> {
    const { ecosystem, spec } = source;
    const isNpm = ecosystem === 'npm';
    const [, name = spec, wanted] = specForms[ecosystem].exec(spec) ?? [];
    const exact = exactVersions[ecosystem];
    if (wanted !== undefined && exact.test(wanted)) return source;
    if (!isNpm && wanted !== undefined && wanted !== 'latest')
      return { ecosystem, spec: `${name}==${bareVersion(wanted)}` };
    const url = new URL(
      isNpm
        ? `${registries.npm}/${name.replace('/', '%2f')}/${wanted ?? 'latest'}`
        : `${registries.pypi.replace(/\/simple$/, '')}/pypi/${name}/json`,
    );
    const found = await ask(spec, url, signal);
    const info = isNpm ? found : isObject(found) && found['info'];
    const version = isObject(info) ? info['version'] : undefined;
    if (typeof version !== 'string' || !exact.test(version))
      throw new HubError(
        'HUB_PACKAGE_UNKNOWN',
        `${url.href} answers without a version of ${spec}. Write the exact version`,
        { data: { package: spec } },
      );
    return { ecosystem, spec: `${name}${isNpm ? '@' : '=='}${version}` };
  }

  /** Returns the key of a package with this name in the other registry, if it responds soon. Never rejects. */
  async function findElsewhere(
    { ecosystem, spec }: PackageSpec,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const name = specForms[ecosystem].exec(spec)?.[1] ?? '';
    // PyPI has no scopes, and npm names have no capital letters.
    if (!/^[a-z0-9][a-z0-9._-]*$/i.test(name)) return undefined;
    const other: PackageSpec =
      ecosystem === 'npm'
        ? { ecosystem: 'pypi', spec: name }
        : { ecosystem: 'npm', spec: name.toLowerCase() };
    using timed = createAbortScope([signal], { clock: needs.clock, limitMs: hintMs });
    try {
      await pinned(other, timed.signal);
      return packageKeyOf(other);
    } catch {
      return undefined; // Only the hint is lost.
    }
  }

  return {
    /** Pins the exact version. Rejects with HUB_PACKAGE_UNKNOWN, HUB_REGISTRY_UNREACHABLE or HUB_REQUEST_INVALID. */
    async pin(source: PackageSpec, signal: AbortSignal): Promise<PackageSpec> {
      try {
        return await pinned(source, signal);
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_PACKAGE_UNKNOWN') throw error;
        const elsewhere = await findElsewhere(source, signal);
        if (elsewhere === undefined) throw error;
        const { code, data, cause } = error;
        const registry = source.ecosystem === 'npm' ? 'PyPI' : 'npm';
        const hint = `${registry} has a package of that name: write ${JSON.stringify(elsewhere)} if that is meant`;
        throw new HubError(code, `${error.message}. ${hint}`, { cause, data });
      }
    },
    findElsewhere,
  };
}

/** Returns the version without the "v" of PEP 440. Throws HUB_REQUEST_INVALID if it is inexact: PyPI has no tags. */
function bareVersion(wanted: string): string {
  const version = wanted.replace(/^v/i, '');
  if (exactVersions.pypi.test(version)) return version;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `version: ${JSON.stringify(wanted)} is not an exact version, such as 1.2.3, and PyPI has no tags`,
  );
}

/** Returns a package in the notation of the key `package` in config entries. */
export const packageKeyOf = ({ ecosystem, spec }: PackageSpec) =>
  ecosystem === 'npm' ? spec : `uvx:${spec}`;

const quoted = (text: string) =>
  text.trim() === '' ? '' : `: ${text.trim().replaceAll(/\s+/g, ' ').slice(0, shownCharacters)}`;
const remedy = 'or write the exact version, which needs no question';

function away(spec: string, url: URL, why: string, cause?: unknown): HubError {
  return new HubError(
    'HUB_REGISTRY_UNREACHABLE',
    `the newest version of ${spec} is unknown: ${url.href} did not answer (${why}). Check the network and its proxy, ${remedy}`,
    { cause, data: { package: spec, retryable: true } },
  );
}
