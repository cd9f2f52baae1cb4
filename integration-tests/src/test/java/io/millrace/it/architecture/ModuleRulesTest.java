package io.millrace.it.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/// Who may depend on what.
class ModuleRulesTest {
    @SuppressWarnings("NullAway.Init")
    private static JavaClasses suite;

    @BeforeAll
    static void readClasses() {
        suite = new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .importPackages("io.millrace");
    }

    @Test
    void springLivesOnlyInServicesAndStandalone() {
        noClasses()
                .that()
                .resideInAnyPackage(
                        "io.millrace.kernels..", "io.millrace.engine..", "io.millrace.proto..", "io.millrace.rpc..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.springframework..")
                .check(suite);
    }

    @Test
    void vectorApiIsUsedByItsProviderOnly() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.millrace.kernels.vector..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("jdk.incubator.vector..")
                .check(suite);
    }

    @Test
    void nativeLinkerIsUsedByNativeProvidersOnly() {
        noClasses()
                .that()
                .resideOutsideOfPackages("io.millrace.kernels.nativecode..", "io.millrace.kernels.ascend..")
                .should()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.lang.foreign.Linker")
                .check(suite);
    }

    @Test
    void kernelsKnowNothingOfTheEngine() {
        noClasses()
                .that()
                .resideInAPackage("io.millrace.kernels..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.millrace.engine..", "io.millrace.proto..", "io.millrace.rpc..")
                .check(suite);
    }

    @Test
    void engineKnowsNeitherTheWireNorServices() {
        noClasses()
                .that()
                .resideInAPackage("io.millrace.engine..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.millrace.proto..", "io.millrace.rpc..", "io.grpc..", "com.google.protobuf..")
                .check(suite);
    }

    @Test
    void gatewayUsesTextAndBlockIdsOfTheEngineOnly() {
        noClasses()
                .that()
                .resideInAPackage("io.millrace.gateway..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "io.millrace.engine.model..", "io.millrace.engine.schedule..", "io.millrace.kernels..")
                .allowEmptyShould(true)
                .check(suite);
    }

    @Test
    void servicesDoNotDependOnEachOther() {
        String[] services = {
            "io.millrace.gateway..", "io.millrace.prefill..", "io.millrace.decode..", "io.millrace.kvcache.."
        };
        for (String service : services) {
            for (String other : services) {
                if (!service.equals(other)) {
                    noClasses()
                            .that()
                            .resideInAPackage(service)
                            .should()
                            .dependOnClassesThat()
                            .resideInAPackage(other)
                            .allowEmptyShould(true)
                            .check(suite);
                }
            }
        }
    }

    @Test
    void noStaticStateChanges() {
        fields().that()
                .areStatic()
                .and()
                .areDeclaredInClassesThat()
                .resideOutsideOfPackage("io.millrace.proto..")
                .should()
                .haveModifier(JavaModifier.FINAL)
                .check(suite);
    }

    @Test
    void concreteClassesAreFinal() {
        classes()
                .that()
                .resideInAnyPackage("io.millrace.kernels..", "io.millrace.engine..", "io.millrace.rpc..")
                .and()
                .areNotInterfaces()
                .and()
                .areNotEnums()
                .and()
                .areNotAnonymousClasses()
                .and()
                .doNotHaveModifier(JavaModifier.ABSTRACT)
                .should()
                .haveModifier(JavaModifier.FINAL)
                .check(suite);
    }
}
