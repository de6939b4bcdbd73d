/** Capabilities and info of a client at `initialize`, as JSON texts. */
export type ClientOfSession = { readonly capabilities: string; readonly clientInfo: string };
