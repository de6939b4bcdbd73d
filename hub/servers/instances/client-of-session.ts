/** What a client said of itself at `initialize`, as JSON texts. */
export type ClientOfSession = { readonly capabilities: string; readonly clientInfo: string };
