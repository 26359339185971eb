/**
 * packages/server/src/grpc/descriptors.generated.ts: what the services of the server look like, for tools that ask it (reflection). Made here, so that
 * a running server needs neither the files nor anything that reads them.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import descriptor from 'protobufjs/ext/descriptor/index.js';

const require = createRequire(import.meta.url);

const OWN = [
  'envoy/service/ratelimit/v3/rls.proto',
  'envoy/service/rate_limit_quota/v3/rlqs.proto',
  'kuadrant/service/ratelimit/v1/kuadrantrls.proto',
];

/** Each with the folder that its imports are found in. */
function protoFiles(project) {
  const reflection = join(dirname(require.resolve('@grpc/reflection')), '../proto/grpc/reflection');
  return [
    // Together: the loader makes one file of all that are of one package.
    [OWN, join(project, 'packages/server/proto')],
    [require('grpc-health-check').protoPath, ''],
    [join(reflection, 'v1/reflection.proto'), reflection],
    [join(reflection, 'v1alpha/reflection.proto'), reflection],
  ];
}

export function descriptorsModule(banner, project) {
  const files = new Map();
  for (const [file, folder] of protoFiles(project)) {
    for (const entry of Object.values(loadSync(file, { includeDirs: [folder] }))) {
      for (const bytes of entry.fileDescriptorProtos ?? []) addFile(files, bytes);
    }
  }
  const sorted = [...files.values()].sort((one, other) => (one.file.name < other.file.name ? -1 : 1));
  const list = sorted.map((file) => described(file, sorted));
  return `/** What the gRPC services of the server look like, for tools that ask. */
${banner}
/** A file of messages, as the reflection protocol hands it out. */
export interface DescribedFile {
  readonly name: string;
  /** Names of the files it imports. */
  readonly needs: readonly string[];
  /** Full names of its messages, enums, services and methods. */
  readonly symbols: readonly string[];
  /** A FileDescriptorProto, in base64. */
  readonly bytes: string;
}

export const FILES: readonly DescribedFile[] = ${JSON.stringify(list, null, 2)};
`;
}

function addFile(files, bytes) {
  const file = descriptor.FileDescriptorProto.decode(bytes);
  const symbols = [
    ...(file.messageType ?? []).flatMap((message) => messageSymbols(message, file.package)),
    ...(file.enumType ?? []).map(({ name }) => `${file.package}.${name}`),
    ...(file.service ?? []).flatMap((service) => serviceSymbols(service, file.package)),
  ];
  files.set(file.name, { file, symbols });
}

/** The loader leaves out what a file imports: it is read off the types that its fields and methods have. */
function described({ file, symbols }, all) {
  const types = [
    ...(file.messageType ?? []).flatMap((message) => typesIn(message, file.package)),
    ...(file.service ?? []).flatMap(({ method = [] }) =>
      method.flatMap((one) => [one.inputType, one.outputType].map((type) => ({ type, scope: file.package }))),
    ),
  ];
  const needed = new Set(types.map(({ type, scope }) => fileOf(type, scope, all)));
  needed.delete(undefined);
  needed.delete(file.name);
  file.dependency = [...needed].sort();
  const bytes = descriptor.FileDescriptorProto.encode(file).finish();
  return { name: file.name, needs: file.dependency, symbols, bytes: Buffer.from(bytes).toString('base64') };
}

function typesIn({ name, field = [], nestedType = [] }, parent) {
  const scope = `${parent}.${name}`;
  const named = field.filter(({ typeName }) => typeName);
  return [
    ...named.map(({ typeName }) => ({ type: typeName, scope })),
    ...nestedType.flatMap((nested) => typesIn(nested, scope)),
  ];
}

/** A type is looked for in its scope first, and then further and further out. */
function fileOf(type, scope, all) {
  const parts = type.startsWith('.') ? [] : scope.split('.');
  for (let length = parts.length; length >= 0; length--) {
    const name = [...parts.slice(0, length), type.replace(/^\./, '')].join('.');
    const found = all.find(({ symbols }) => symbols.includes(name));
    if (found !== undefined) return found.file.name;
  }
  throw new Error(`no file has the type ${type} of ${scope}`);
}

function messageSymbols({ name, nestedType = [], enumType = [] }, parent) {
  const full = `${parent}.${name}`;
  return [
    full,
    ...nestedType.flatMap((nested) => messageSymbols(nested, full)),
    ...enumType.map((kind) => `${full}.${kind.name}`),
  ];
}

function serviceSymbols({ name, method = [] }, parent) {
  return [`${parent}.${name}`, ...method.map((one) => `${parent}.${name}.${one.name}`)];
}
