/** Methods that every client may use: they set up a session, list filtered items, or end a subscription. */
export const openMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'resources/unsubscribe',
  // Lists are filtered instead of refused: clients stop using a server if a list request fails.
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
]);

/** True for methods that use no item. Only rules with `methods` match them: other refusals would break clients. */
export const isHousekeeping = (method: string): boolean =>
  method === 'logging/setLevel' || method === 'subscriptions/listen' || method.startsWith('tasks/');
