/** A value that the publisher of a server fixes or leaves to the user. */
export type Input = {
  readonly description?: string | undefined;
  readonly isRequired?: boolean | undefined;
  readonly isSecret?: boolean | undefined;
  readonly format?: string | undefined;
  /** Fixed, except for its `{name}` placeholders. */
  readonly value?: string | undefined;
  readonly default?: string | undefined;
  readonly choices?: readonly string[] | undefined;
  readonly variables?: Readonly<Record<string, Input>> | undefined;
};
export type NamedInput = Input & { readonly name: string };
export type Argument = Input & {
  readonly type: 'positional' | 'named';
  readonly name?: string | undefined;
  readonly valueHint?: string | undefined;
};
export type ServerTransport = {
  readonly type: string;
  readonly url?: string | undefined;
  readonly headers?: readonly NamedInput[] | undefined;
  readonly variables?: Readonly<Record<string, Input>> | undefined;
};
export type ServerPackage = {
  readonly registryType: string;
  readonly registryBaseUrl?: string | undefined;
  readonly identifier: string;
  readonly version?: string | undefined;
  readonly fileSha256?: string | undefined;
  readonly transport?: ServerTransport | undefined;
  readonly runtimeArguments?: readonly Argument[] | undefined;
  readonly packageArguments?: readonly Argument[] | undefined;
  readonly environmentVariables?: readonly NamedInput[] | undefined;
};

/** The fields of a server in the official registry that the hub reads. */
export type ServerJson = {
  readonly name: string;
  readonly description?: string | undefined;
  readonly packages?: readonly ServerPackage[] | undefined;
  readonly remotes?: readonly ServerTransport[] | undefined;
};
