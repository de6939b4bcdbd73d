import { filled } from '#clients';
import { HubError, isObject } from '#core';
import type { Run } from './command.ts';
import type { AddRequest, GivenAddRequest } from './add-request.ts';
import { textsIn } from './responses.ts';
import { guess, usageError } from './values.ts';

/** Names of recipes with a file of their own in `examples`. */
export const recipeNames = [
  'git',
  'github',
  'playwright',
  'postgres',
  'remote-oauth',
  'remote-token',
  'slack',
  'sqlite',
] as const;

/**
 * Builds the install request of a recipe, with the settings that the command line adds or replaces. Throws HUB_USAGE
 * for an unknown recipe, and if the command line does not fit it.
 */
export async function requestOfRecipe(
  name: string,
  given: GivenAddRequest,
  { needs }: Pick<Run, 'needs'>,
): Promise<AddRequest> {
  if (!recipeNames.some(known => known === name))
    throw usageError(
      `--recipe: ${JSON.stringify(name)} is not a recipe: write one of ${recipeNames.join(', ')}.${guess(name, recipeNames)}`,
    );
  const entry = await needs.files.readRecipe(name);
  const { package: spec, image, url, args, env, headers, mounts, ...others } = entry;
  const own = typeof image === 'string' ? `docker:${image}` : spec;
  const allArgs = [...textsIn(args), ...(given.args ?? [])];
  const allOf = (key: string) => [
    ...new Set([others, given.rest].flatMap(settings => textsIn(settings[key]))),
  ];
  return {
    package:
      url === undefined ? ownSource(name, own, given.package) : addressOf(name, given.package),
    name: given.name ?? name,
    args: allArgs.length > 0 ? allArgs : undefined,
    env: { ...valuesIn(env), ...given.env },
    headers: { ...valuesIn(headers), ...given.headers },
    rest: filled({
      ...others,
      ...given.rest,
      volumes: { ...valuesIn(others['volumes']), ...valuesIn(given.rest['volumes']) },
      system_packages: allOf('system_packages'),
      with: allOf('with'),
      mounts: mountsOf(textsIn(mounts), textsIn(given.rest['mounts'])),
    }),
  };
}

/** Returns what a recipe installs. Throws HUB_USAGE if the command line names a package too. */
function ownSource(name: string, own: unknown, given: string | undefined): string {
  if (given === undefined) return String(own);
  throw usageError(
    `--recipe: "${name}" says what to install. Leave out ${JSON.stringify(given)}, or --recipe`,
  );
}

/**
 * Returns the URL of a remote server, which its recipe does not contain. Throws HUB_USAGE if the command line lacks it.
 */
function addressOf(name: string, given: string | undefined): string {
  if (given !== undefined && /^https?:\/\//i.test(given)) return given;
  throw usageError(
    `--recipe: "${name}" needs the address of your server: agenthub add https://host/mcp --recipe ${name}`,
  );
}

/**
 * Names the option for a folder that a recipe needs, if that is why its entry was refused. Returns other errors
 * unchanged.
 */
export function inRecipe(
  error: unknown,
  { rest }: AddRequest,
  recipe: string | undefined,
): unknown {
  if (recipe === undefined || !(error instanceof HubError)) return error;
  for (const mount of textsIn(rest['mounts'])) {
    const [, variable, target] = /^\$\{(\w+)\}:([^:]+)/.exec(mount) ?? [];
    if (variable !== undefined && error.message.includes(`variable ${variable} is not set`))
      return usageError(
        `--recipe: "${recipe}" needs a folder of yours: add --mount FOLDER:${target}`,
        error,
      );
  }
  return error;
}

const valuesIn = (value: unknown): Readonly<Record<string, string>> =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]))
    : {};

/** Returns the recipe's mounts and the given ones. A given mount replaces one of the recipe with the same target. */
function mountsOf(own: readonly string[], given: readonly string[]): readonly string[] {
  const targets = new Set(given.map(targetOf));
  return [...own.filter(mount => !targets.has(targetOf(mount))), ...given];
}

/** Returns the target of a mount such as `source:target` or `source:target:rw`. */
const targetOf = (mount: string) =>
  mount
    .replace(/:(?:ro|rw)$/, '')
    .split(':')
    .at(-1);
