/** Registers listeners by the name of an event; a listener that throws has no effect on the others. */
export function createListeners<Events>(): [
  on: <Name extends keyof Events>(name: Name, listener: (value: Events[Name]) => void) => () => void,
  emit: <Name extends keyof Events>(name: Name, value: Events[Name]) => void,
] {
  const entries = new Set<readonly [name: keyof Events, listener: (value: never) => void]>()
  return [
    (name, listener) => {
      const entry = [name, listener] as const
      entries.add(entry)
      return () => void entries.delete(entry)
    },
    (name, value) => {
      // Of a copy: who listens from now on hears the next event.
      for (const [other, listener] of Array.from(entries)) {
        try {
          if (other === name) listener(value as never)
        } catch (error) {
          console.error(error)
        }
      }
    },
  ]
}
