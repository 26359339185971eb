/** `grpc.reflection`: tells tools such as grpcurl which services there are and what their messages look like. */
import { type DescribedFile, FILES } from './descriptors.generated.ts';
import { FRAME_ROOM, framed } from './messages-in.ts';
import { Reader, Writer } from './protobuf.ts';
import type { CallHandler, Method, OpenCall } from './server.ts';
import { STATUS } from './status.ts';

const VERSIONS = ['v1', 'v1alpha'] as const;

/** `guard` throws when the caller may not ask. */
export function reflectionOf(
  services: readonly string[],
  guard: (authorization: string | undefined) => void,
): readonly (readonly [path: string, method: Method])[] {
  const names = [...services, ...VERSIONS.map(serviceName)];
  const method: Method = {
    stream: {
      open(call) {
        guard(call.caller.authorization);
        return answering(call, names);
      },
    },
  };
  return VERSIONS.map((version) => [`/${serviceName(version)}/ServerReflectionInfo`, method] as const);
}

const serviceName = (version: string): string => `grpc.reflection.${version}.ServerReflection`;

function answering(call: OpenCall, services: readonly string[]): CallHandler {
  return {
    message: (message) => call.send(answerTo(message, services)),
    ended: () => call.end(),
    closed: () => {},
  };
}

/** The fields of a question, by their numbers. */
const FIELD = { host: 1, byFilename: 3, bySymbol: 4, byExtension: 5, extensionsOf: 6, listServices: 7 } as const;

function answerTo(message: Buffer, services: readonly string[]): Buffer {
  const reader = new Reader(message);
  let [host, asked, value] = ['', 0, ''];
  while (reader.next()) {
    if (reader.field === FIELD.host) host = reader.text();
    else if (reader.field === FIELD.byExtension) {
      asked = reader.field;
      reader.skip();
    } else if (reader.field >= FIELD.byFilename && reader.field <= FIELD.listServices) {
      asked = reader.field;
      value = reader.text();
    } else reader.skip();
  }
  const writer = new Writer(FRAME_ROOM);
  writer.text(1, host);
  writer.bytes(2, message);
  return framed(answered(asked, value, services, writer).finish());
}

function answered(asked: number, value: string, services: readonly string[], writer: Writer): Writer {
  if (asked === FIELD.listServices) {
    writer.message(
      6,
      (list, names) => {
        for (const name of names) list.message(1, (service, text) => service.text(1, text), name);
      },
      services,
    );
    return writer;
  }
  const found = foundFiles(asked, value);
  if (found === undefined) {
    writer.message(
      7,
      (error, text) => {
        error.uint(1, STATUS.NOT_FOUND);
        error.text(2, text);
      },
      asked === 0 ? 'the question is empty' : `nothing is known of '${value.slice(0, 200)}'`,
    );
    return writer;
  }
  writer.message(
    4,
    (files, all) => {
      for (const { bytes } of all) files.bytes(1, Buffer.from(bytes, 'base64'));
    },
    found,
  );
  return writer;
}

/** A file with all that it needs, itself first. Messages here have no extensions. */
function foundFiles(asked: number, value: string): readonly DescribedFile[] | undefined {
  const first = FILES.find(({ name, symbols }) =>
    asked === FIELD.byFilename ? name === value : asked === FIELD.bySymbol && symbols.includes(value),
  );
  if (first === undefined) return undefined;
  const found = new Set<DescribedFile>([first]);
  for (const { needs } of found) {
    for (const name of needs) {
      const file = FILES.find((other) => other.name === name);
      if (file !== undefined) found.add(file);
    }
  }
  return [...found];
}
