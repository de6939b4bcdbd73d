import type { ListKind } from '#servers';

/** The notification for each kind of changed list. */
export const changeMethods: Readonly<Record<ListKind, string>> = {
  tool: 'notifications/tools/list_changed',
  prompt: 'notifications/prompts/list_changed',
  resource: 'notifications/resources/list_changed',
  template: 'notifications/resources/list_changed',
};
