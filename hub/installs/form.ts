import { packageText, refusalOf, remoteRefusalOf } from './draft.ts';
import { dockerOptions, optionIn } from './oddities.ts';
import type {
  Argument,
  Input,
  NamedInput,
  ServerJson,
  ServerPackage,
  ServerTransport,
} from './server-json.ts';

/** A form field for a value that the user may or must give to install a server. */
export type FormField = {
  /** Member of the install request for the value, such as `env.API_KEY` or `variables.project`. */
  readonly path: string;
  readonly label: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly format: 'string' | 'number' | 'boolean' | 'filepath';
  readonly default: string;
  readonly placeholder: string;
  readonly choices: readonly string[];
};

/** One way to run a server of a registry: a package, or a remote address. */
export type InstallOption = {
  readonly kind: 'npm' | 'pypi' | 'oci' | 'remote' | 'other';
  /** The package, as `package` in a config entry names it, or the URL of a remote server. */
  readonly what: string;
  /** Reason why this option cannot be installed; undefined if it can. */
  readonly refusal: string | undefined;
  readonly fields: readonly FormField[];
  /** What the user has to grant: folders of this machine, or a network. */
  readonly wants: readonly ('mounts' | 'network')[];
  /** The server.json with this package or address only. */
  readonly server: ServerJson;
};

/** Returns the ways to run a server, packages first, with their form fields. Pure. */
export function installOptionsOf(server: ServerJson): readonly InstallOption[] {
  const { packages = [], remotes = [], ...rest } = server;
  return [
    ...packages.map((one): InstallOption => ({
      kind: kindOf(one.registryType),
      what: packageText(one),
      // The user has not been asked for folders and a network yet, so both count as given.
      refusal: refusalOf(one, { rest: { mounts: [], network: 'none' } }),
      fields: fieldsOfPackage(one),
      wants: wantsOf(one),
      server: { ...rest, packages: [one] },
    })),
    ...remotes.map((one): InstallOption => ({
      kind: 'remote',
      what: one.url ?? '',
      refusal: remoteRefusalOf(one, { transport: undefined }),
      fields: fieldsOfRemote(one),
      wants: [],
      server: { ...rest, remotes: [one] },
    })),
  ];
}

function kindOf(registryType: string): InstallOption['kind'] {
  return registryType === 'npm' || registryType === 'pypi' || registryType === 'oci'
    ? registryType
    : 'other';
}

function wantsOf({ registryType, runtimeArguments = [], packageArguments = [] }: ServerPackage) {
  const has = (kind: 'mounts' | 'network') =>
    registryType === 'oci' &&
    runtimeArguments.some(argument => dockerOptions[kind].includes(optionIn(argument)));
  const isFile = packageArguments.some(({ format }) => format === 'filepath');
  return [
    ...(isFile || has('mounts') ? (['mounts'] as const) : []),
    ...(has('network') ? (['network'] as const) : []),
  ];
}

function fieldsOfPackage(one: ServerPackage): readonly FormField[] {
  const {
    registryType,
    runtimeArguments = [],
    packageArguments = [],
    environmentVariables = [],
  } = one;
  const variables =
    registryType === 'oci'
      ? runtimeArguments.filter(({ name = '' }) => dockerOptions.variables.includes(name))
      : [];
  return unique([
    ...environmentVariables.flatMap(input => fieldsOfNamed('env', input)),
    ...variables.flatMap(fieldsInside),
    ...packageArguments.flatMap(fieldsOfArgument),
  ]);
}

const fieldsOfRemote = ({ headers = [], variables = {} }: ServerTransport) =>
  unique([
    ...headers.flatMap(input => fieldsOfNamed('headers', input)),
    ...Object.entries(variables).map(([name, input]) => field(`variables.${name}`, name, input)),
  ]);

const unique = (fields: readonly FormField[]) => [
  ...new Map(fields.map(one => [one.path, one])).values(),
];

/** Returns the fields of an input. Of a value that the publisher fixed, only its variables are fields. */
const fieldsOfNamed = (part: 'env' | 'headers', input: NamedInput) =>
  input.value === undefined
    ? [field(`${part}.${input.name}`, input.name, input)]
    : fieldsInside(input);

function fieldsOfArgument(input: Argument): readonly FormField[] {
  const { type, name, valueHint, value } = input;
  const key = type === 'named' ? name : (valueHint ?? name);
  if (value !== undefined) return fieldsInside(input);
  return key === undefined ? [] : [field(`variables.${key}`, key, input)];
}

const fieldsInside = ({ variables = {}, isRequired }: Input): readonly FormField[] =>
  Object.entries(variables)
    .filter(([, input]) => input.value === undefined)
    .map(([name, input]) =>
      field(`variables.${name}`, name, { ...input, isRequired: input.isRequired ?? isRequired }),
    );

function field(path: string, label: string, input: Input): FormField {
  const { description = '', isRequired = false, isSecret = false, format } = input;
  return {
    path,
    label,
    description,
    isRequired: isRequired && input.default === undefined,
    isSecret,
    format:
      format === 'number' || format === 'boolean' || format === 'filepath' ? format : 'string',
    default: input.default ?? '',
    placeholder: input.placeholder ?? '',
    choices: input.choices ?? [],
  };
}
