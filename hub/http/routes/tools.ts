import type { FastifyInstance } from 'fastify';
import { shown } from '#core';
import type { ToolStates, ToolSwitches } from '#tools';
import { changing } from './audit.ts';
import { invalid, type Named, readMembers } from './input.ts';

/** Adds `/tools` and `/servers/{name}/tools`: the tools of servers, whether they are enabled, and their token cost. */
export function toolRoutes(app: FastifyInstance, tools: ToolSwitches): void {
  app.get('/tools', async () => {
    const servers = (await tools.list()).map(described);
    const counts = servers.map(({ tokens }) => tokens);
    const isKnown = !counts.includes(null);
    return {
      tokens: isKnown ? counts.reduce((sum, count) => Number(sum) + Number(count), 0) : null,
      servers,
    };
  });

  app.get<Named>('/servers/:name/tools', async ({ params }) =>
    described(await tools.of(params.name)),
  );

  app.post<Named>(
    '/servers/:name/tools',
    changing('tools_switched', ['enable', 'disable']),
    async ({ params, body }) => described(await tools.change(params.name, readChange(body))),
  );
}

const described = ({ server, tokens, tools }: ToolStates) => ({
  server,
  tokens: tokens ?? null,
  tools: tools.map(tool => ({
    name: tool.name,
    public_name: tool.publicName,
    enabled: tool.isEnabled,
    ...(tool.hiddenBy !== undefined && { hidden_by: tool.hiddenBy }),
    ...(tool.isHeld && { held: true }),
    tokens: tool.tokens ?? null,
  })),
});

/** Reads the tool names in a body. Throws HUB_REQUEST_INVALID. */
function readChange(body: unknown) {
  const { enable, disable } = readMembers(body, ['enable', 'disable']);
  const change = { enable: readNames('enable', enable), disable: readNames('disable', disable) };
  if (change.enable.length + change.disable.length === 0)
    throw invalid('enable: is missing: write names of tools in "enable" or "disable"');
  return change;
}

/** Maximum number of names in one request. Each name is one edit of the config file. */
const maxNames = 200;
/** Maximum length of a name in characters, more than any server uses. The names are written to the config file. */
const maxNameChars = 1_000;

function readNames(member: string, value: unknown = []): readonly string[] {
  const names = Array.isArray(value) ? value.filter(isName) : [];
  if (!Array.isArray(value) || names.length !== value.length || names.length > maxNames)
    throw invalid(
      `${member}: ${shown(value)} is not allowed: write a list of at most ${maxNames} names of tools of 1 to ${maxNameChars} characters`,
    );
  return [...new Set(names)];
}

const isName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= maxNameChars;
