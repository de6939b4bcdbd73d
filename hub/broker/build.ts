import { parseObject } from './query.ts';
import { refusal } from './refusal.ts';
import { baseLabel } from './schema.ts';
import { show } from './target.ts';

/** The images that the broker builds: a package installed on a base of ours. */
export type Build = {
  /** The folder below images/ whose files are the context. */
  readonly base: 'npm' | 'python';
  /** The name of the network that its steps are on; the caller looks whose it is. */
  readonly network: string;
  readonly query: URLSearchParams;
};

// What an installer may be told: a name of its registry with a version. Never a URL, a path, or an option.
const specs = {
  npm: /^(@[a-z0-9][a-z0-9._~-]{0,100}\/)?[a-zA-Z0-9][a-zA-Z0-9._~-]{0,200}(@[a-zA-Z0-9^~<>=*.][a-zA-Z0-9^~<>=*.+-]{0,100})?$/,
  python:
    /^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,200}[a-zA-Z0-9])?(\[[a-zA-Z0-9,._-]{1,200}\])?((==|>=|<=|~=|!=|<|>)[a-zA-Z0-9][a-zA-Z0-9.*+!_-]{0,100}){0,1}$/,
};

/** Packages that may be installed beside the one of a build. */
const maxExtras = 50;

const mebibyte = 2 ** 20;
/** What each step may use where the client does not say, and at most. */
const usualLimits = { memoryBytes: 2048 * mebibyte, cpuQuotaUs: 200_000 };
const least = { memoryBytes: 64 * mebibyte, cpuQuotaUs: 1_000 };
const most = { memoryBytes: 32 * 1024 * mebibyte, cpuQuotaUs: 6_400_000 };
const cpuPeriodUs = 100_000;

const admitted = [
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
 * The parameters of a build, again. The client's context is not looked at: the broker sends its own
 * files, so all that can be chosen is the package, the base and a tag in the namespace of that base.
 */
export function rebuildBuild(given: ReadonlyMap<string, string>): Build {
  for (const name of given.keys()) {
    if (!admitted.includes(name)) throw refusal(`the parameter ${show(name)} of a build`);
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
    throw refusal(
      `a build of ${show(spec)}: it must be the name of a package, with a version or without`,
    );
  }
  if (extras !== undefined && !areExtras(extras, base))
    throw refusal(
      `a build with ${show(extras)}: these must be at most ${maxExtras} names of packages, with versions or without, divided by one space each`,
    );
  if (image !== undefined && !isPython(image))
    throw refusal(`a build on ${show(image)}: it must be python:3.x-slim`);
  // The namespaces of the hub's own images lie elsewhere, so that no build can take their place.
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
    // A failed build would leave its container behind, with no label of ours on it.
    rm: '1',
    forcerm: '1',
    ...limits(given),
  });
  return { base, network: given.get('networkmode') ?? 'none', query };
}

/** By the classic builder, as BuildKit takes no notice of bounds. */
function limits(given: ReadonlyMap<string, string>) {
  const version = given.get('version') ?? '1';
  if (version !== '1')
    throw refusal(`the builder ${show(version)}: it must be "1", the classic one`);
  const within = (name: string, usual: number, [from, to]: readonly [number, number]) => {
    const text = given.get(name) ?? String(usual);
    if (/^\d{1,15}$/.test(text) && Number(text) >= from && Number(text) <= to) return text;
    throw refusal(`${show(text)} as the parameter ${show(name)} of a build`);
  };
  const memory = within('memory', usualLimits.memoryBytes, [least.memoryBytes, most.memoryBytes]);
  return {
    version,
    memory,
    memswap: within('memswap', Number(memory), [Number(memory), Number(memory)]),
    cpuperiod: within('cpuperiod', cpuPeriodUs, [cpuPeriodUs, cpuPeriodUs]),
    cpuquota: within('cpuquota', usualLimits.cpuQuotaUs, [least.cpuQuotaUs, most.cpuQuotaUs]),
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
