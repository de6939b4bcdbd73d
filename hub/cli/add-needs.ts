import { hasKnownNeeds } from '#clients';
import { type JsonObject, isObject, shellWord } from '#core';
import type { Run } from './command.ts';
import { textsOf } from './values.ts';

/** Parts of an install request that decide what a server may use. */
type Fitting = {
  readonly package: string;
  readonly name: string | undefined;
  readonly args: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly rest: JsonObject;
};

/**
 * An install request that was changed to fit a container, with the settings beyond the default sandbox that the user
 * allowed.
 */
export type Fitted<Request> = {
  readonly request: Request;
  /** True for the name of a setting that the user has already allowed. */
  readonly isAgreed: (setting: string) => boolean;
};

/** Value of `--allow` for all that a server needs, as in `import`. */
const needed = 'needed';

/** Pattern of an argument that is a path or a URL. */
const mayName = /^(?:--?[\w-]+=)?(?:[/~.]|[A-Za-z]:[\\/]|\w+:\/\/)/;

/**
 * Asks the same questions as `import`: whether folders of this machine in the arguments become mounts, and whether the
 * server gets the network that it probably needs. Does not change settings of the command line. Without a terminal,
 * `--allow needed` allows both; without that option, a note names the options to use.
 */
export async function fitRequest<Request extends Fitting>(
  request: Request,
  run: Run,
): Promise<Fitted<Request>> {
  const { values, needs, isJson } = run;
  const isGiven = textsOf(values, 'allow').includes(needed);
  const asIs = { request, isAgreed: () => false };
  const texts = [...(request.args ?? []), ...Object.values(request.env)];
  const isOpen = request.rest['network'] === undefined || texts.some(text => mayName.test(text));
  const isPlain = texts.length === 0 && !hasKnownNeeds({ package: request.package });
  const isRemote = /^https?:\/\//i.test(request.package);
  if (isRemote || !isOpen || (!isGiven && (isJson || isPlain))) return asIs;
  const all = await needs.openClients();
  const fit = async (isWritable: boolean) => {
    const { package: source, name = 'it', args, env, rest } = request;
    const written = { package: source, ...(args && { args }), env, ...rest };
    return await all.fitEntry(written, name, isWritable);
  };
  const first = await fit(false);
  const found = partsOf(first.entry, request);
  for (const text of first.remarks) run.remark('note', run.errorScreen.foreign(text));
  const chosen = isGiven
    ? ({ mounts: 'read', isNetworked: found.network !== undefined } as const)
    : await choose(found, run);
  const { entry } = chosen.mounts === 'write' ? await fit(true) : first;
  return {
    request: { ...request, ...changesOf(entry, request, found, chosen) },
    isAgreed: setting =>
      (chosen.isNetworked && setting.startsWith('network:')) ||
      (chosen.mounts === 'write' && setting.startsWith('mount:')),
  };
}

type Choice = { readonly mounts: 'read' | 'write' | 'none'; readonly isNetworked: boolean };

/** Asks the user on a terminal. Without a terminal, prints the options to use instead. */
async function choose({ mounts, network }: Parts, run: Run): Promise<Choice> {
  const { needs, isJson, err, errorScreen, signal } = run;
  const { ask } = needs;
  if (!ask || isJson) {
    for (const text of optionsFor({ mounts, network }))
      run.remark('note', errorScreen.foreign(text));
    return { mounts: 'none', isNetworked: false };
  }
  const letterOf = async (question: string) =>
    (await ask(question, signal)).trim().toLowerCase()[0] ?? 'y';
  let letter = 'n';
  if (mounts.length > 0) {
    const sources = mounts.map(sourceOf).join(', ');
    err(errorScreen.foreign(`Its container does not have ${sources}.`));
    letter = await letterOf('Mount it? [Y]es, read-only, [w]ritable, [n]o: ');
  }
  const question = `It probably needs the network: ${hostsOf(network)}. Allow that? [Y/n] `;
  return {
    mounts: letter === 'w' ? 'write' : letter === 'y' ? 'read' : 'none',
    isNetworked: network !== undefined && (await letterOf(question)) === 'y',
  };
}

/** Returns the parts of the request that the choice changes. */
function changesOf(
  { args, env, mounts, user, system_packages: packages }: JsonObject,
  { rest }: Fitting,
  found: Parts,
  { mounts: mounted, isNetworked }: Choice,
) {
  const isMounted = found.mounts.length > 0 && mounted !== 'none';
  return {
    ...(isMounted && { args, env: env ?? {} }),
    rest: {
      ...rest,
      ...(isMounted && mounts !== undefined && { mounts }),
      ...(isMounted && user !== undefined && { user }),
      ...(isNetworked && found.network !== undefined && { network: found.network }),
      ...(packages !== undefined && { system_packages: packages }),
    },
  };
}

/** Returns the mounts and network that the fitted entry has and the request does not. */
function partsOf({ mounts, network }: JsonObject, { rest }: Fitting) {
  const given = Array.isArray(rest['mounts']) ? rest['mounts'].length : 0;
  return {
    mounts: given > 0 || !Array.isArray(mounts) ? [] : mounts.map(String),
    network: rest['network'] === undefined ? network : undefined,
  };
}

type Parts = ReturnType<typeof partsOf>;

const sourceOf = (mount: string) => mount.split(':/', 1)[0] ?? mount;

function hostsOf(network: Parts['network']): string {
  const allow = isObject(network) ? network['allow'] : undefined;
  return Array.isArray(allow) ? allow.join(', ') : 'any host';
}

function optionsFor({ mounts, network }: Parts): readonly string[] {
  return [
    ...mounts.map(
      mount => `its container does not have ${sourceOf(mount)}: add --mount ${shellWord(mount)}`,
    ),
    ...(network === undefined
      ? []
      : [
          isObject(network)
            ? `it probably needs the network (${hostsOf(network)}): add --allow needed for these hosts, or --network bridge for any`
            : `it probably needs the network (${hostsOf(network)}): add --network bridge`,
        ]),
  ];
}
