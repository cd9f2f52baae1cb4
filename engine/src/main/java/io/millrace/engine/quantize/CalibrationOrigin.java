package io.millrace.engine.quantize;

/// Whose a calibration text is.
public enum CalibrationOrigin {
    /// The one that comes with the engine, for models of any kind.
    BUILT_IN("the built-in text"),
    /// [CalibrationText#FILE] in the model's folder.
    MODEL(CalibrationText.FILE + " of the model's folder"),
    /// Given by who quantises.
    GIVEN("the text given");

    private final String words;

    CalibrationOrigin(String words) {
        this.words = words;
    }

    /// As a report names it.
    String words() {
        return words;
    }
}
