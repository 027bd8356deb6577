package org.cloze;

import java.util.AbstractList;
import java.util.Collections;
import java.util.List;
import java.util.RandomAccess;

/**
 * A list with an answer for each input that was finished, and with what became of all inputs.
 *
 * @param <T> what an answer is
 */
public final class Results<T> extends AbstractList<T> implements RandomAccess {
    private final List<T> answers;
    private final int finished;
    private final List<Input> inputs;

    Results(List<T> answers, int finished, List<Input> inputs) {
        this.answers = answers;
        this.finished = finished;
        this.inputs = Collections.unmodifiableList(inputs);
    }

    @Override
    public T get(int index) {
        return answers.get(index);
    }

    @Override
    public int size() {
        return answers.size();
    }

    /** How many inputs have their answer, counted from the first: all, unless a deadline or a cancellation stopped the call. */
    public int finished() {
        return finished;
    }

    /** What became of each input. */
    public List<Input> inputs() {
        return inputs;
    }
}
