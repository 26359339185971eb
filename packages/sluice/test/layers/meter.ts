/** A meter that writes down what it is told. */
import type { OpenTelemetryMeter } from '../../src/layers/otel.ts';

export type Reading = readonly [instrument: string, value: number, attributes: object | undefined];

export function meterOf(readings: Reading[]): OpenTelemetryMeter {
  return {
    createCounter: (name) => ({
      add: (value, attributes) => readings.push([name, value, attributes]),
    }),
    createHistogram: (name) => ({
      record: (value, attributes) => readings.push([name, value, attributes]),
    }),
  };
}
