import { refusal, show } from './refusal.ts';
import { baseLabel, managedLabel, packageLabel } from './schema.ts';
import { parseObject } from './target.ts';

/** The hub's own images. A client can choose nothing about them but the hash in their tags. */
const ownImages = ['egress', 'agent', 'git', 'ollama-mcp'] as const;
type OwnImage = (typeof ownImages)[number];

/** A checked build of an image: for a package, with Debian packages, or of the hub's own. */
export type Build = {
  /** The folder in images/ that is the build context. */
  readonly base: 'npm' | 'python' | 'system' | OwnImage;
  /** Name of the network for the build steps. The caller checks that this hub owns it. */
  readonly network: string;
  /**
   * Image with system packages to build on. The caller checks that a hub built it: the engine would pull a missing
   * image.
   */
  readonly systemImage?: string;
  readonly query: URLSearchParams;
};

// Package specs: a registry name with an optional version, never a URL, a path or an option.
const specs = {
  npm: /^(@[a-z0-9][a-z0-9._~-]{0,100}\/)?[a-zA-Z0-9][a-zA-Z0-9._~-]{0,200}(@[a-zA-Z0-9^~<>=*.][a-zA-Z0-9^~<>=*.+-]{0,100})?$/,
  python:
    /^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,200}[a-zA-Z0-9])?(\[[a-zA-Z0-9,._-]{1,200}\])?((==|>=|<=|~=|!=|<|>)[a-zA-Z0-9][a-zA-Z0-9.*+!_-]{0,100}){0,1}$/,
};

/** Values of the base label for builds of a user's folder, which the broker refuses. */
const folderBases: readonly string[] = ['dockerfile', 'node-project', 'python-project'];
const ofFolder =
  'a build of a folder: under compose the engine gets only files of the hub. Build the image yourself (docker build -t NAME FOLDER) and write "image": "NAME" instead of "build"; or run the hub on this machine (npm start)';

/** Maximum number of additional packages in a build. */
const maxExtras = 50;

const mebibyte = 2 ** 20;
/** Limits for each build step: the default, the minimum and the maximum. Memory in bytes. */
const memoryLimits = [2048 * mebibyte, 64 * mebibyte, 32 * 1024 * mebibyte] as const;
const cpuQuotaLimitsUs = [200_000, 1_000, 6_400_000] as const;
const cpuPeriodUs = 100_000;

const allowedParameters =
  't buildargs labels forcerm rm nocache version networkmode memory memswap cpuperiod cpuquota'.split(
    ' ',
  );
const allowedLabels = [baseLabel, managedLabel, packageLabel];

/**
 * Rebuilds the parameters of a build from checked values. The client's context is discarded: the broker sends
 * its own files, so a client chooses only the package, the base and a tag in the namespace of that base. Throws
 * HUB_BROKER_REFUSED.
 */
export function rebuildBuild(given: ReadonlyMap<string, string>): Build {
  requireOnly(given.keys(), allowedParameters, name => `the parameter ${name} of a build`);
  const labels = parseObject(given.get('labels') ?? '{}', 'labels');
  const base = labels[baseLabel];
  const own = ownImages.find(one => one === base);
  if (own) return rebuildOwnBuild(own, given, labels);
  if (base === 'system') return rebuildSystemBuild(given, labels);
  if (typeof base === 'string' && folderBases.includes(base)) throw refusal(ofFolder);
  if (base !== 'npm' && base !== 'python')
    throw refusal(
      `a build whose label ${baseLabel} is ${show(base)}: it must be "npm" or "python"`,
    );
  const args = argumentsOf(given, ['PACKAGE', 'EXTRAS', 'BASE']);
  const { PACKAGE: spec, EXTRAS: extras, BASE: image } = args;
  if (typeof spec !== 'string' || !specs[base].test(spec))
    throw refusal(`a build of ${show(spec)}: it must be a package name with an optional version`);
  if (extras !== undefined && !areExtras(extras, base))
    throw refusal(
      `a build with ${show(extras)}: name at most ${maxExtras} packages, each with an optional version, separated by single spaces`,
    );
  const systemImage = isSystem(image) ? image : undefined;
  if (image !== undefined && systemImage === undefined && !(base === 'python' && isPython(image)))
    throw refusal(
      `a build on ${show(image)}: it must be ${base === 'python' ? 'python:3.x-slim or ' : ''}an image with system packages`,
    );
  // The hub's own images are in other namespaces, so no build can replace them.
  const tag = given.get('t') ?? '';
  const ownTag = `^agenthub/${base}-[a-z0-9][a-z0-9._-]{0,200}:[a-zA-Z0-9_][\\w.-]{0,127}$`;
  if (!new RegExp(ownTag).test(tag))
    throw refusal(`the tag ${show(tag)} of a build: it must begin with "agenthub/${base}-"`);
  requireLabels(labels, allowedLabels);
  const query = queryOf(given, {
    t: tag,
    // JSON.stringify omits arguments that are undefined.
    buildargs: JSON.stringify({ PACKAGE: spec, EXTRAS: extras, BASE: image }),
    labels: JSON.stringify({ [managedLabel]: 'true', [baseLabel]: base, [packageLabel]: spec }),
  });
  const network = given.get('networkmode') ?? 'none';
  return { base, network, ...(systemImage !== undefined && { systemImage }), query };
}

/** Rebuilds a build that adds Debian packages to a base image. Names that are options or patterns are refused. */
function rebuildSystemBuild(
  given: ReadonlyMap<string, string>,
  labels: Readonly<Record<string, unknown>>,
): Build {
  const { PACKAGES: packages, BASE: image } = argumentsOf(given, ['PACKAGES', 'BASE']);
  if (typeof packages !== 'string' || !areSystemPackages(packages))
    throw refusal(
      `a build with ${show(packages)}: name at most ${maxExtras} Debian packages, separated by single spaces`,
    );
  if (!isBase(image))
    throw refusal(
      `system packages on ${show(image)}: under compose they can only be added to servers from npm and PyPI. ` +
        'Build an image with them yourself, and write its name as "image"',
    );
  const tag = given.get('t') ?? '';
  if (!systemTag.test(tag))
    throw refusal(`the tag ${show(tag)} of a build: it must begin with "agenthub/system-"`);
  requireLabels(labels, allowedLabels);
  const about = { [managedLabel]: 'true', [baseLabel]: 'system', [packageLabel]: packages };
  const query = queryOf(given, {
    t: tag,
    buildargs: JSON.stringify({ PACKAGES: packages, BASE: image }),
    labels: JSON.stringify(about),
  });
  return { base: 'system', network: given.get('networkmode') ?? 'none', query };
}

/** Rebuilds a build of the hub's own image. A client can choose only the hash in the tag. */
function rebuildOwnBuild(
  base: OwnImage,
  given: ReadonlyMap<string, string>,
  labels: Readonly<Record<string, unknown>>,
): Build {
  const tag = given.get('t') ?? '';
  if (!new RegExp(`^agenthub/${base}:[0-9a-f]{12}$`).test(tag))
    throw refusal(`the tag ${show(tag)} of a build of agenthub/${base}`);
  argumentsOf(given, []);
  requireLabels(labels, [baseLabel, managedLabel]);
  const query = queryOf(given, {
    t: tag,
    labels: JSON.stringify({ [managedLabel]: 'true', [baseLabel]: base }),
  });
  // Only the git image needs a network, for a Debian package.
  const network = base === 'git' ? (given.get('networkmode') ?? 'none') : 'none';
  return { base, network, query };
}

/** Returns the query of a build with checked limits. Without `forcerm`, a failed build leaves an unlabelled container. */
const queryOf = (given: ReadonlyMap<string, string>, own: Readonly<Record<string, string>>) =>
  new URLSearchParams({
    ...own,
    rm: '1',
    forcerm: '1',
    ...(given.get('nocache') === '1' && { nocache: '1' }),
    ...limits(given),
  });

/** Returns checked resource limits. They need the classic builder, because BuildKit ignores them. */
function limits(given: ReadonlyMap<string, string>) {
  const version = given.get('version') ?? '1';
  if (version !== '1')
    throw refusal(`the builder ${show(version)}: it must be "1", the classic one`);
  const within = (name: string, [fallback, from, to]: readonly [number, number, number]) => {
    const text = given.get(name) ?? String(fallback);
    if (/^\d{1,15}$/.test(text) && Number(text) >= from && Number(text) <= to) return text;
    throw refusal(`${show(text)} as the parameter ${show(name)} of a build`);
  };
  const exactly = (name: string, value: number) => within(name, [value, value, value]);
  const memory = within('memory', memoryLimits);
  return {
    version,
    memory,
    memswap: exactly('memswap', Number(memory)),
    cpuperiod: exactly('cpuperiod', cpuPeriodUs),
    cpuquota: within('cpuquota', cpuQuotaLimitsUs),
  };
}

/** Parses the build arguments. Throws HUB_BROKER_REFUSED for names that are not allowed. */
function argumentsOf(given: ReadonlyMap<string, string>, allowed: readonly string[]) {
  const args = parseObject(given.get('buildargs') ?? '{}', 'buildargs');
  requireOnly(Object.keys(args), allowed, name => `the build argument ${name}`);
  return args;
}

const requireLabels = (labels: Readonly<Record<string, unknown>>, allowed: readonly string[]) =>
  requireOnly(Object.keys(labels), allowed, name => `the label ${name} of a build`);

/** Throws HUB_BROKER_REFUSED, which `what` describes, for the first name that is not allowed. */
function requireOnly(
  names: Iterable<string>,
  allowed: readonly string[],
  what: (name: string) => string,
): void {
  const other = Array.from(names).find(name => !allowed.includes(name));
  if (other !== undefined) throw refusal(what(show(other)));
}

const areExtras = (text: unknown, base: keyof typeof specs) =>
  typeof text === 'string' &&
  text.split(' ').length <= maxExtras &&
  text.split(' ').every(extra => specs[base].test(extra));

const systemTag = /^agenthub\/system-(node|python):[0-9a-f]{12}$/;
const systemPackage = /^[a-z0-9][a-z0-9+.-]{0,98}[a-z0-9+.]$/;

const areSystemPackages = (text: string) =>
  text.split(' ').length <= maxExtras && text.split(' ').every(name => systemPackage.test(name));

const isSystem = (image: unknown): image is string =>
  typeof image === 'string' && systemTag.test(image);

/** True for the base images of images/npm and images/python. */
const isBase = (image: unknown) =>
  isPython(image) ||
  (typeof image === 'string' &&
    /^(?:node:\d[\d.]{0,20}-bookworm-slim|python:3[\d.]{1,20}-slim-trixie)$/.test(image));

const isPython = (image: unknown) =>
  typeof image === 'string' && /^python:3\.\d{1,2}(\.\d{1,2})?-slim$/.test(image);
