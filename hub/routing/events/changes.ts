import type { ListKind } from '#servers';

/** How a client is told that a list changed. */
export const changeMethods: Readonly<Record<ListKind, string>> = {
  tool: 'notifications/tools/list_changed',
  prompt: 'notifications/prompts/list_changed',
  resource: 'notifications/resources/list_changed',
  template: 'notifications/resources/list_changed',
};
