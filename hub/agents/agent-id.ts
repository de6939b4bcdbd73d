import { HubError } from '#core';

/** Pattern of ids, which become parts of paths and of names of containers and networks. */
export const agentIdPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;
const maxShown = 80;

/** Checks the id of an agent before it becomes a path or a name. Throws HUB_AGENT_ID_INVALID. */
export function requireAgentId(given: string): string {
  if (agentIdPattern.test(given)) return given;
  throw new HubError(
    'HUB_AGENT_ID_INVALID',
    `agent_id: ${JSON.stringify(given.slice(0, maxShown))} is not an id of an agent. Write 1 to 63 lowercase letters, digits and "-", starting with a letter or digit`,
  );
}
