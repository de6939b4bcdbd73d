import { findLoosenings, warningsOf } from '#config';
import { isObject, shellWord } from '#core';
import { keysPlaceOf, storeKeys } from '../add-keys.ts';
import { type Fitted, fitRequest } from '../add-needs.ts';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { allowOption, alsoAllowing, confirmEach, doConfirmed, loadToAdd } from '../confirm.ts';
import { shown, tellFlags } from '../definition-text.ts';
import { type HubClient, isWithoutHub, openHub } from '../hub-client.ts';
import { type AddRequest, addRequestOf } from '../add-request.ts';
import { followWork } from '../work-stream.ts';
import { installOffering } from '../offer-packages.ts';
import { entryOptions, inOptions, inOptionsOf } from '../option-faults.ts';
import { inRecipe, recipeNames, requestOfRecipe } from '../recipes.ts';
import { type Described, fieldsOf, objectsIn, textsIn } from '../responses.ts';
import type { Io } from '../terminal.ts';
import { count, textOf, textsOf, usageError } from '../values.ts';

/** `agenthub add`: installs a server through the running hub, or writes its entry if no hub runs. */
export const add: Command = {
  name: 'add',
  summary: 'Install a server, test it, and add it to the config.',
  positionals: [
    {
      name: 'package',
      help: '@org/name@1.0 (npm), uvx:name==1.0 (PyPI), docker:image:tag, or https://host/mcp.',
      count: 'optional',
    },
  ],
  options: {
    recipe: {
      value: 'name',
      completion: recipeNames,
      help: `A server with all its settings, instead of a package: ${recipeNames.join(', ')}.`,
    },
    name: {
      value: 'name',
      help: 'Name of the server. Default: derived from the package, or the name of the recipe.',
    },
    env: {
      multiple: true,
      short: 'e',
      value: 'K=V',
      help: "Environment variable. K alone: its value in the hub's environment. Repeatable.",
    },
    header: {
      multiple: true,
      value: 'K=V',
      help: 'HTTP header for a remote server. Repeatable.',
    },
    arg: {
      multiple: true,
      value: 'text',
      help: 'Argument for the server. Write --arg=--flag if it starts with "-". Repeatable.',
    },
    mount: {
      multiple: true,
      value: 'from:to[:rw]',
      help: 'Folder that the server may read, or write with ":rw". Repeatable.',
    },
    volume: {
      multiple: true,
      value: 'name:/path',
      help: 'Named volume that the server may write to. Kept when the server is removed. Repeatable.',
    },
    network: {
      value: 'mode',
      completion: ['none', 'bridge'],
      help: 'bridge: the server can reach the network, through a proxy. Default: none.',
    },
    'system-package': {
      multiple: true,
      value: 'name',
      help: 'Debian package to install in the image of the server, such as git. Repeatable.',
    },
    with: {
      multiple: true,
      value: 'package',
      help: 'Package of the same registry to install beside it, such as "mcp<2". Repeatable.',
    },
    tag: {
      multiple: true,
      value: 'word',
      help: 'Tag, to select servers with. Repeatable.',
    },
    keys: {
      value: 'place',
      completion: ['config', 'secrets'],
      help: 'Where keys among variables and headers go: "secrets" (the keychain or an encrypted file), which leaves only their names in the config, or "config". Default: asked on a terminal, else "config".',
    },
    allow: allowOption,
    ...hubOptions,
  },
  details: [
    'Each setting beyond the default sandbox (a writable mount, the network, a variable of the hub, ...) needs your confirmation. Without a terminal, name each with --allow.',
    'A recipe of a remote server needs its address as <package>. Other options change a recipe: a mount replaces that of the same target, --network its network, and variables, arguments and the rest are added. examples/README.md says what each needs.',
    'Folders among the arguments become mounts and known hosts the network if you agree, as in "agenthub import"; without a terminal with --allow needed.',
    'If no hub is running, the entry is written to the config file, and the server is installed at the next start.',
    '--json prints the response of POST /servers/install: {"name", "package", "tools", "warnings", ...}; without a running hub, {"name", "file", "installed": false, "warnings"}.',
  ],
  examples: [
    ['add @modelcontextprotocol/server-memory', 'A package from npm'],
    ['add uvx:mcp-server-fetch --network bridge', 'A PyPI package that needs the network'],
    [
      'add @modelcontextprotocol/server-filesystem --arg /notes --mount ~/notes:/notes:rw',
      'A server that works on a folder',
    ],
    ['add --recipe git --mount ~/project:/repository', 'A recipe, on a folder of your own'],
    [
      'add uvx:mcp-server-git --system-package git --mount ~/notes:/notes --arg=--repository --arg /notes',
      'A server that calls a program',
    ],
    [
      `add docker:ghcr.io/github/github-mcp-server:v1.0.0 --name github -e GITHUB_PERSONAL_ACCESS_TOKEN='\${secret:GITHUB_TOKEN}' --network bridge`,
      'An image, with a secret that "agenthub secret set GITHUB_TOKEN" stored',
    ],
  ],
  async run(given) {
    const keys = keysPlaceOf(given.values);
    const fitted = await requestOf(given);
    const allow = textsOf(given.values, 'allow').filter(name => name !== 'needed');
    const run: Run = { ...given, values: { ...given.values, allow } };
    const { request, secrets } = await storeKeys(fitted.request, keys, run);
    const isAgreed: IsAgreed = setting =>
      fitted.isAgreed(setting) || secrets.some(name => setting === `secret:${name}`);
    const hub = await openHub(run);
    try {
      const installed = await installOffering(request, run, tried =>
        doConfirmed(run, confirm => install(hub, tried, confirm, run), isAgreed),
      );
      if (installed === undefined) return reportDeclined(run);
      if (run.isJson) return run.json(installed);
      reportInstalled(installed, run);
      return 0;
    } catch (error) {
      if (isWithoutHub(error, run)) return await writeEntry(request, isAgreed, run);
      throw await inOptionsOf(
        inRecipe(error, request, textOf(run.values, 'recipe')),
        request.name,
        hub,
        entryOptions,
      );
    }
  },
};

/**
 * Builds the install request from the command line. A package's request is fitted to a container; a recipe's stays as
 * it is. Throws HUB_USAGE without a package or recipe.
 */
async function requestOf(run: Run): Promise<Fitted<AddRequest>> {
  const recipe = textOf(run.values, 'recipe');
  const given = addRequestOf(run.values);
  if (recipe !== undefined)
    return { request: await requestOfRecipe(recipe, given, run), isAgreed: () => false };
  const { package: spec } = given;
  if (spec !== undefined) return await fitRequest({ ...given, package: spec }, run);
  const url = textOf(run.values, 'url');
  const more =
    url === undefined
      ? ''
      : `. --url is the address of the hub: for a remote server there, write "agenthub add ${shellWord(url)}"`;
  throw usageError(
    `<package> is missing: write what to install, or a recipe: --recipe ${recipeNames.join(', ')}${more}`,
  );
}

type IsAgreed = Fitted<AddRequest>['isAgreed'];

function reportDeclined({ err }: Io): ExitCode {
  err('Nothing was installed.');
  return 1;
}

async function install(
  hub: HubClient,
  { rest, ...request }: AddRequest,
  confirm: readonly string[],
  { progress }: Io,
): Promise<unknown> {
  const body = { ...request, ...rest, ...(confirm.length > 0 && { confirm }) };
  return await followWork(hub, { path: '/servers/install', body, progress });
}

function reportInstalled(installed: unknown, { out, remark, screen }: Io): void {
  const { name, package: spec, image, tools, pinned, warnings } = fieldsOf(installed);
  const what = [spec, image].find(one => typeof one === 'string');
  const offered = isObject(tools) ? `: ${count(Number(tools['count']), 'tool')}` : '';
  const from = what === undefined ? '' : ` (${what})`;
  out(`${screen.paint('green', 'installed')} ${String(name)}${from}${offered}`);
  if (isObject(pinned))
    reportPinned(String(name), pinned, fieldsOf(tools)['names'], { out, screen });
  for (const warning of textsIn(warnings)) remark('warning', warning);
  const isEmpty = ['tools', 'resources', 'resource_templates', 'prompts'].every(
    list => fieldsOf(fieldsOf(installed)[list])['count'] === 0,
  );
  if (isEmpty)
    remark(
      'note',
      `it offers nothing yet. Many servers do so without their variables: give it those that its documentation names. "agenthub logs ${String(name)}" shows what it says`,
    );
}

/** Maximum number of tools that are listed by name. */
const maxNamed = 20;

/** Prints which definitions are pinned from now on, and which of them a person should check. */
function reportPinned(
  server: string,
  { pinning, tools, prompts, instructions, flags }: Described,
  names: unknown,
  { out, screen }: Pick<Io, 'out' | 'screen'>,
): void {
  if (pinning === 'off') return;
  const more = instructions === true ? ', instructions' : '';
  const counted = `${count(Number(tools), 'tool')}, ${count(Number(prompts), 'prompt')}`;
  out(`  pinned: ${counted}${more} (${String(pinning)})`);
  const all = textsIn(names);
  const named = all.slice(0, maxNamed).map(shown);
  if (all.length > maxNamed) named.push('...');
  if (all.length > 0) out(`  ${named.join(', ')}`);
  tellFlags(flags, { out, screen });
  if (objectsIn(flags).length > 0) out(`  "agenthub pins ${server}" shows this again`);
}

/** Writes the entry for a hub that is not running. Validates the entry, but does not build or start the server. */
async function writeEntry(whole: AddRequest, isAgreed: IsAgreed, run: Run): Promise<ExitCode> {
  const { package: spec, ...request } = whole;
  const { needs, out, json, remark, screen } = run;
  const { file, config } = await loadToAdd(run);
  const { draftLazily } = await import('#installs');
  const source = { package: spec };
  const { name, entry } = await draftLazily(
    { ...request, source, transport: undefined, variables: {}, confirm: [] },
    tried => config.servers.some(server => server.name === tried),
  );
  const editor = await needs.files.editConfig();
  const previewed = await editor.preview(file, name, entry).catch((error: unknown) => {
    const named = inRecipe(error, whole, textOf(run.values, 'recipe'));
    throw inOptions(named, server => server === name, entryOptions);
  });
  const loosenings = findLoosenings(entry, previewed, config.servers);
  const open = loosenings.filter(({ needsConfirmation }) => needsConfirmation);
  const agreed = open.map(one => one.name).filter(isAgreed);
  if (!(await confirmEach(name, open, alsoAllowing(agreed, run)))) return reportDeclined(run);
  const edited = await editor.addServer(file, name, entry);
  const own = edited.servers.filter(server => server.name === name);
  const warnings = warningsOf({ ...edited, servers: own, profiles: [], policy: [], fanOut: [] });
  if (run.isJson) return json({ name, file, installed: false, warnings });
  out(
    `${screen.paint('green', 'added')} ${name} to ${file}. No hub is running: it is installed at the next start ("agenthub serve")`,
  );
  for (const warning of warnings) remark('warning', warning);
  return 0;
}
