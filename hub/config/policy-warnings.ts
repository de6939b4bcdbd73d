import { isDeepStrictEqual } from 'node:util';
import { reservedClientNames } from './clients-schema.ts';
import { type Config, nameHashLength } from './config.ts';
import type { PolicyRule } from './policy-schema.ts';
import { matchesEverything } from './policy.ts';
import { findClosest } from './suggest.ts';

/**
 * Returns a warning for each rule and each tool name that is valid but can never match. `builtins` are the names of the
 * built-in servers, and `tokenNames` those of the clients for which the hub made a token.
 */
export function* policyWarnings(
  config: Config,
  builtins: readonly string[],
  tokenNames: readonly string[] = [],
): Generator<string> {
  const { policy = [], servers, clients = [], fanOut = [] } = config;
  const serverNames = [...servers.map(({ name }) => name), ...builtins];
  const clientNames = [...clients.map(({ name }) => name), ...tokenNames, ...reservedClientNames];
  for (const [index, rule] of policy.entries()) {
    for (const name of literals(rule.servers))
      if (!serverNames.includes(name))
        yield `policy[${index}].servers: no server is called ${JSON.stringify(name)}${hint(name, serverNames)}`;
    for (const name of literals(rule.clients))
      // Names with ":" belong to agents and jobs, which exist only for some time.
      if (!clientNames.includes(name) && !name.includes(':'))
        yield `policy[${index}].clients: ${JSON.stringify(name)} is not in "clients"${hint(name, clientNames)}. The rule only matches if a token of \`agenthub token create\` or a certificate has that name`;
    yield* toolWarnings(`policy[${index}].tools`, rule.tools, config, serverNames);
    const earlier = policy.slice(0, index);
    yield* overlapWarnings(`policy[${index}].tools`, rule, earlier, config, serverNames);
  }
  yield* profileWarnings(config, serverNames);
  for (const { name, tools } of fanOut)
    yield* toolWarnings(`fan_out.${name}.tools`, tools, config, serverNames);
  const last = policy.findIndex(matchesEverything);
  if (last >= 0 && last < policy.length - 1)
    yield `policy[${last}] matches everything, so that the rules after it have no effect: move it to the end, or remove them`;
}

/** Returns warnings about servers, tags and tools in profiles that do not exist. */
function* profileWarnings(config: Config, serverNames: readonly string[]): Generator<string> {
  const { profiles = [], servers } = config;
  const known = [...new Set(servers.flatMap(({ tags }) => tags))];
  for (const { name: profile, tags, servers: named, tools, hiddenTools, find } of profiles) {
    for (const tag of tags)
      if (!known.includes(tag))
        yield `profiles.${profile}.tags: no server has the tag ${JSON.stringify(tag)}${hint(tag, known)}`;
    for (const name of literals(named))
      if (!serverNames.includes(name))
        yield `profiles.${profile}.servers: no server is called ${JSON.stringify(name)}${hint(name, serverNames)}`;
    const all = [...tools, ...hiddenTools, ...(find?.pinned ?? [])];
    yield* toolWarnings(`profiles.${profile}.tools`, all, config, serverNames);
  }
}

/**
 * Returns warnings about tool names that no server can have on `/mcp`, and about patterns with another separator after the
 * name of a server. Other patterns may be for servers that are added later. Names of fan-out tools have no server prefix.
 */
function* toolWarnings(
  path: string,
  tools: PolicyRule['tools'] = [],
  { naming: { separator, maxLength }, fanOut = [] }: Config,
  serverNames: readonly string[],
): Generator<string> {
  const whole = serverNames.map(server => `${server}${separator}`);
  // The start of a name that was cut may lack the end of the server's name, or of the separator.
  const cut = whole.map(prefix => `${prefix.slice(0, maxLength - nameHashLength - 1)}_`);
  for (const name of tools) {
    const [start = ''] = name.split('*');
    const isPattern = start !== name;
    const prefixes = isPattern || endsInHash.test(name) ? [...whole, ...cut] : whole;
    const isOfServer = prefixes.some(
      prefix => start.startsWith(prefix) || (isPattern && prefix.startsWith(start)),
    );
    const isMistake =
      !isPattern ||
      serverNames.some(server => start.startsWith(`${server}_`) || start.startsWith(`${server}.`));
    if (isMistake && !isOfServer && !fanOut.some(one => one.name === name))
      yield `${path}: ${JSON.stringify(name)} is a tool of no server. On /mcp tools are called "<server>${separator}<tool>"`;
  }
}

/**
 * Returns warnings about patterns such as `files_*` in a rule without `servers` that match the tools of a server such as
 * `files_old` too, unless the rule has a pattern for that one as well, or an earlier rule decides about it.
 */
function* overlapWarnings(
  path: string,
  rule: PolicyRule,
  earlier: readonly PolicyRule[],
  { naming: { separator } }: Config,
  serverNames: readonly string[],
): Generator<string> {
  const { servers, tools = [] } = rule;
  const patternOf = (name: string) => `${name}${separator}*`;
  const isMeant = (name: string) =>
    tools.includes(patternOf(name)) ||
    earlier.some(one => decidesBefore(one, rule, name, patternOf(name)));
  for (const pattern of servers ? [] : tools) {
    const own = serverNames.find(name => pattern === patternOf(name));
    if (own === undefined) continue;
    const others = serverNames.filter(
      name => name.startsWith(`${own}${separator}`) && !isMeant(name),
    );
    if (others.length > 0)
      yield `${path}: ${JSON.stringify(pattern)} matches the tools of ${others.join(', ')} too. Add "servers": ${JSON.stringify(own)} to the rule, or name all servers that it is for`;
  }
}

/** True if a rule decides about all tools of a server, for all clients of a later rule. */
function decidesBefore(rule: PolicyRule, later: PolicyRule, server: string, pattern: string) {
  const { clients, servers, tools, resources, prompts, methods, annotations } = rule;
  const isForClients = !clients || isDeepStrictEqual(clients, later.clients);
  if (!isForClients || methods || annotations || servers?.includes(server) === false) return false;
  return tools ? tools.includes(pattern) : servers !== undefined && !resources && !prompts;
}

const endsInHash = new RegExp(`_[0-9a-f]{${nameHashLength}}$`);

const literals = (names: PolicyRule['servers'] = []) => names.filter(name => !name.includes('*'));

function hint(name: string, known: readonly string[]): string {
  const closest = findClosest(name, known);
  return closest === undefined ? '' : `. Did you mean ${JSON.stringify(closest)}?`;
}
