import { resolve } from 'node:path';
import { filled } from '#clients';
import { type Values, choiceOf, textOf, textsOf, usageError } from './values.ts';

/**
 * The install request, in the format of `POST /servers/install`. `rest` has the keys of the entry that have no field
 * here.
 */
export type AddRequest = Omit<GivenAddRequest, 'package'> & { readonly package: string };

/** An install request whose package may be missing. */
export type GivenAddRequest = ReturnType<typeof addRequestOf>;

/** Converts the options of the command line to an install request. */
export function addRequestOf(values: Values) {
  const args = textsOf(values, 'arg');
  const rest = filled({
    mounts: mountsOf(values),
    volumes: Object.fromEntries(volumesOf(textsOf(values, 'volume'))),
    system_packages: textsOf(values, 'system-package'),
    with: textsOf(values, 'with'),
    tags: textsOf(values, 'tag'),
    network: choiceOf(values, 'network', ['none', 'bridge']),
  });
  return {
    package: textOf(values, 'package'),
    name: textOf(values, 'name'),
    args: args.length > 0 ? args : undefined,
    env: pairsOf('env', textsOf(values, 'env'), name => `\${${name}}`),
    headers: pairsOf('header', textsOf(values, 'header')),
    rest,
  };
}

/** Mount source that does not depend on a folder: absolute, or beginning with `~`, a variable or a drive letter. */
const fixedSource = /^(?:[/~]|\$\{|[A-Za-z]:(?:\\|\/[^]*:\/))/;

/**
 * Returns the mounts in `--mount`, with relative sources resolved against the working folder: in a config file, they
 * would be relative to the folder of the file.
 */
export const mountsOf = (values: Values): readonly string[] =>
  textsOf(values, 'mount').map(text =>
    fixedSource.test(text)
      ? text
      : text.replace(/^([^]+?)(?=:\/)/, (source: string) => resolve(source)),
  );

/** Parses volumes of the form `NAME:/path`. Throws HUB_USAGE for any other text, and for a name given twice. */
function volumesOf(texts: readonly string[]): readonly (readonly [string, string])[] {
  const volumes = texts.map(text => {
    const [, name, path] = /^([^:/]+):(\/.*)$/s.exec(text) ?? [];
    if (name !== undefined && path !== undefined) return [name, path] as const;
    throw usageError(
      `--volume: ${JSON.stringify(text)} is not allowed: write NAME:/path, such as --volume notes:/data. For a folder of this machine, use --mount`,
    );
  });
  const twice = volumes.find(([name], at) => volumes.findIndex(([other]) => other === name) < at);
  if (!twice) return volumes;
  throw usageError(`--volume: ${JSON.stringify(twice[0])} appears twice. Write each name once`);
}

/** Parses `K=V` pairs. `bare` returns the value for a name without `=`. Throws HUB_USAGE, without showing a value. */
function pairsOf(
  option: string,
  texts: readonly string[],
  bare?: (name: string) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map(text => {
      const at = text.indexOf('=');
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
      if (at === -1 && text !== '' && bare) return [text, bare(text)];
      throw usageError(`--${option}: a name is missing: write --${option} NAME=value`);
    }),
  );
}
