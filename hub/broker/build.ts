import { parseObject } from './query.ts';
import { refusal } from './refusal.ts';
import { baseLabel } from './schema.ts';
import { show } from './target.ts';

/** A build of an image: a package installed on one of the hub's base images. */
export type Build = {
  /** The folder below images/ that is the build context. */
  readonly base: 'npm' | 'python';
  /** Name of the network for the build steps. The caller checks that this hub owns it. */
  readonly network: string;
  readonly query: URLSearchParams;
};

// Package specs that an installer may get: a registry name with an optional version, never a URL, a path or an
// option.
const specs = {
  npm: /^(@[a-z0-9][a-z0-9._~-]{0,100}\/)?[a-zA-Z0-9][a-zA-Z0-9._~-]{0,200}(@[a-zA-Z0-9^~<>=*.][a-zA-Z0-9^~<>=*.+-]{0,100})?$/,
  python:
    /^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,200}[a-zA-Z0-9])?(\[[a-zA-Z0-9,._-]{1,200}\])?((==|>=|<=|~=|!=|<|>)[a-zA-Z0-9][a-zA-Z0-9.*+!_-]{0,100}){0,1}$/,
};

/** Maximum number of additional packages in a build. */
const maxExtras = 50;

const mebibyte = 2 ** 20;
/** Limits for each build step: the default, the minimum and the maximum. */
const defaultLimits = { memoryBytes: 2048 * mebibyte, cpuQuotaUs: 200_000 };
const minLimits = { memoryBytes: 64 * mebibyte, cpuQuotaUs: 1_000 };
const maxLimits = { memoryBytes: 32 * 1024 * mebibyte, cpuQuotaUs: 6_400_000 };
const cpuPeriodUs = 100_000;

const allowedParameters = [
  't',
  'buildargs',
  'labels',
  'forcerm',
  'rm',
  'version',
  'networkmode',
  'memory',
  'memswap',
  'cpuperiod',
  'cpuquota',
];

/**
 * Rebuilds the parameters of a build from checked values. The client's context is discarded: the broker sends
 * its own files, so a client chooses only the package, the base and a tag in the namespace of that base. Throws
 * HUB_BROKER_REFUSED.
 */
export function rebuildBuild(given: ReadonlyMap<string, string>): Build {
  for (const name of given.keys()) {
    if (!allowedParameters.includes(name)) throw refusal(`the parameter ${show(name)} of a build`);
  }
  const labels = parseObject(given.get('labels') ?? '{}', 'labels');
  const base = labels[baseLabel];
  if (base !== 'npm' && base !== 'python') {
    throw refusal(
      `a build whose label ${baseLabel} is ${show(base)}: it must be "npm" or "python"`,
    );
  }
  const args = parseObject(given.get('buildargs') ?? '{}', 'buildargs');
  refuseOthers(args, ['PACKAGE', 'EXTRAS', ...(base === 'python' ? ['BASE'] : [])]);
  const { PACKAGE: spec, EXTRAS: extras, BASE: image } = args;
  if (typeof spec !== 'string' || !specs[base].test(spec)) {
    throw refusal(`a build of ${show(spec)}: it must be a package name with an optional version`);
  }
  if (extras !== undefined && !areExtras(extras, base))
    throw refusal(
      `a build with ${show(extras)}: name at most ${maxExtras} packages, each with an optional version, separated by single spaces`,
    );
  if (image !== undefined && !isPython(image))
    throw refusal(`a build on ${show(image)}: it must be python:3.x-slim`);
  // The hub's own images are in other namespaces, so no build can replace them.
  const tag = given.get('t') ?? '';
  if (
    !new RegExp(`^agenthub/${base}-[a-z0-9][a-z0-9._-]{0,200}:[a-zA-Z0-9_][\\w.-]{0,127}$`).test(
      tag,
    )
  ) {
    throw refusal(`the tag ${show(tag)} of a build: it must begin with "agenthub/${base}-"`);
  }
  const known = [baseLabel, 'io.agenthub.managed', 'io.agenthub.package'];
  const unknown = Object.keys(labels).find(key => !known.includes(key));
  if (unknown !== undefined) throw refusal(`the label ${show(unknown)} of a build`);
  const query = new URLSearchParams({
    t: tag,
    buildargs: JSON.stringify({
      PACKAGE: spec,
      ...(extras !== undefined && { EXTRAS: extras }),
      ...(image !== undefined && { BASE: image }),
    }),
    labels: JSON.stringify({
      'io.agenthub.managed': 'true',
      [baseLabel]: base,
      'io.agenthub.package': spec,
    }),
    // Otherwise a failed build leaves a container without the hub's label.
    rm: '1',
    forcerm: '1',
    ...limits(given),
  });
  return { base, network: given.get('networkmode') ?? 'none', query };
}

/** Resource limits. They need the classic builder, because BuildKit ignores them. */
function limits(given: ReadonlyMap<string, string>) {
  const version = given.get('version') ?? '1';
  if (version !== '1')
    throw refusal(`the builder ${show(version)}: it must be "1", the classic one`);
  const within = (name: string, fallback: number, [from, to]: readonly [number, number]) => {
    const text = given.get(name) ?? String(fallback);
    if (/^\d{1,15}$/.test(text) && Number(text) >= from && Number(text) <= to) return text;
    throw refusal(`${show(text)} as the parameter ${show(name)} of a build`);
  };
  const memory = within('memory', defaultLimits.memoryBytes, [
    minLimits.memoryBytes,
    maxLimits.memoryBytes,
  ]);
  return {
    version,
    memory,
    memswap: within('memswap', Number(memory), [Number(memory), Number(memory)]),
    cpuperiod: within('cpuperiod', cpuPeriodUs, [cpuPeriodUs, cpuPeriodUs]),
    cpuquota: within('cpuquota', defaultLimits.cpuQuotaUs, [
      minLimits.cpuQuotaUs,
      maxLimits.cpuQuotaUs,
    ]),
  };
}

function refuseOthers(
  value: { readonly [key: string]: unknown },
  allowed: readonly string[],
): void {
  const other = Object.keys(value).find(each => !allowed.includes(each));
  if (other !== undefined) throw refusal(`the build argument ${show(other)}`);
}

const areExtras = (text: unknown, base: Build['base']) =>
  typeof text === 'string' &&
  text.split(' ').length <= maxExtras &&
  text.split(' ').every(extra => specs[base].test(extra));

const isPython = (image: unknown) =>
  typeof image === 'string' && /^python:3\.\d{1,2}(\.\d{1,2})?-slim$/.test(image);
